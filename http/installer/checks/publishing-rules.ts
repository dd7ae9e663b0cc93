// What else must hold before a dataset is shown to others, where its data type uses property files: there is one, and the
// dataset is installed wherever it is to be, so that nobody is shown data whose properties did not fit.

import { type DataType, type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { INSTALL_KINDS } from '../../../engine/model/status.ts';
import type { EditableDataset } from '../../../engine/ports/dataset-edits.ts';
import type { FaultSink } from '../../kernel/input/faults.ts';
import { checkFiles } from './file-rules.ts';
import type { FurtherRules } from './patch-check.ts';

type Rated = Pick<EditableDataset, 'metadata' | 'installs' | 'files'>;

export function publishingRules(dataset: Rated, dataTypes: DataTypes): FurtherRules {
  return ({ type, visibility, published, typeChanged }, faults) => {
    if (!type?.usesDataProperties || visibility === 'private') return;
    if (published || typeChanged)
      checkFiles(type, visibility, { data: [], properties: dataset.files.properties }, faults);
    if (published) checkInstalled(dataset, type, visibility, dataTypes, faults);
  };
}

/** On every enabled target that the type applies to; nothing is ever installed on the others. */
function checkInstalled(
  { metadata, installs }: Rated,
  type: DataType,
  visibility: string,
  dataTypes: DataTypes,
  faults: FaultSink,
): void {
  for (const target of metadata.installTargets) {
    if (!dataTypes.appliesTo(type, target)) continue;
    for (const kind of INSTALL_KINDS) {
      const install = installs.find((one) => one.target === target && one.kind === kind);
      if (install?.status !== 'complete')
        faults.add(
          ['visibility'],
          `is '${visibility}', but the ${kind} install on ${target} is ${install?.status ?? 'not begun'}; ` +
            `a dataset of ${typeKey(type)} is installed before others see it`,
        );
    }
  }
}
