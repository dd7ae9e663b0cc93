// Whether the install targets and the data type of a dataset fit this installation.

import { type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { targetId } from '../../../engine/model/ids.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink } from '../../kernel/input/faults.ts';
import type { CreateDetails } from '../schema/details.ts';
import type { InstallTargets } from '../service/install-targets.ts';

export function checkTargets(ids: readonly string[], targets: InstallTargets, faults: FaultSink): void {
  for (const [i, id] of ids.entries()) {
    const target = targets.find(id);
    if (!target) faults.add(['installTargets', i], `is ${quote(id)}; install targets are ${targets.enabledIds()}`);
    else if (!target.enabled)
      faults.add(['installTargets', i], `is ${quote(id)}, which is disabled; enabled are ${targets.enabledIds()}`);
  }
}

/** The type must be registered and apply to every enabled target among `ids`. */
export function checkType(
  input: CreateDetails['type'],
  ids: readonly string[],
  dataTypes: DataTypes,
  targets: InstallTargets,
  faults: FaultSink,
): void {
  const type = dataTypes.find(input);
  if (!type) {
    const registered = dataTypes.all().map((known) => quote(typeKey(known)));
    faults.add(['type'], `is ${quote(typeKey(input))}; registered are ${registered.join(', ')}`);
    return;
  }
  for (const id of ids.map(targetId))
    if (targets.find(id)?.enabled && !dataTypes.appliesTo(type, id))
      faults.add(['type'], `is ${quote(typeKey(type))}, which does not apply to the install target ${quote(id)}`);
}
