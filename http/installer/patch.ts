// PATCH /datasets/{id}: changes the metadata of a dataset. One edit writes the document in the object store, then the cache;
// the lanes then bring the install targets in line.

import { isDeepStrictEqual } from 'node:util';
import { type DataType, type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import { type DatasetMetadata, serializeMetadata } from '../../engine/model/metadata.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { INSTALL_KINDS } from '../../engine/model/status.ts';
import type { EditableDataset } from '../../engine/ports/dataset-edits.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { readJson } from '../kernel/bodies/body.ts';
import type { FaultSink } from '../kernel/input/faults.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { type Route, refusals } from '../kernel/pipeline/route.ts';
import {
  demandLasting,
  ifMatch,
  type MetadataSource,
  type OwnerEditOptions,
  ownerEdit,
  requireMetadataMatch,
  withNewestMetadata,
} from './dataset-edit.ts';
import { datasetParam } from './dataset-terms.ts';
import { checkFiles } from './metadata/details-rules.ts';
import type { FurtherRules, PatchCheck } from './metadata/patch-check.ts';
import { type DetailsPatch, PatchDetails, readDetailsPatch } from './metadata/patch-details.ts';

type Rated = Pick<EditableDataset, 'metadata' | 'installs' | 'files'>;

/**
 * Before a dataset whose data type uses property files is published, it must have one and be installed on all its targets:
 * nobody is shown data whose properties did not fit.
 */
function publishingRules(dataset: Rated, dataTypes: DataTypes): FurtherRules {
  return ({ type, visibility, published, typeChanged }, faults) => {
    if (!type?.usesDataProperties || visibility === 'private') return;
    if (published || typeChanged)
      checkFiles(type, visibility, { data: [], properties: dataset.files.properties }, faults);
    if (published) checkInstalled(dataset, type, visibility, dataTypes, faults);
  };
}

/** Looks at the enabled targets that the type applies to; nothing is ever installed on the others. */
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

interface PatchOptions extends OwnerEditOptions {
  readonly store: MetadataSource & Pick<ObjectStore, 'put'>;
  readonly patches: Pick<PatchCheck, 'check'>;
  readonly dataTypes: DataTypes;
}

const MAX_BODY_BYTES = 1024 * 1024;

export function patchRoute(options: PatchOptions): Route {
  return {
    method: 'PATCH',
    path: '/datasets/:id',
    access: 'user',
    operationId: 'patchDataset',
    summary: 'Changes the metadata of a dataset',
    params: datasetParam,
    headers: ifMatch,
    body: { description: 'Fields to change; others stay unchanged', content: { 'application/json': PatchDetails } },
    responses: {
      204: { description: 'Changed' },
      ...refusals({
        400: 'The body is not JSON or too large',
        403: 'Not the owner, or the dataset is deleted, or a newer revision replaces it',
        404: 'No such dataset',
        412: 'The metadata are not those that If-Match names',
        415: 'The body is not JSON',
        422: 'The metadata would not be accepted',
        425: 'The metadata are not in the object store yet',
      }),
    },
    handler: async (context) =>
      patch(options, context, readDetailsPatch(await readJson(context.request, MAX_BODY_BYTES), context.version)),
  };
}

async function patch(options: PatchOptions, context: RequestContext, wanted: DetailsPatch): Promise<void> {
  const { store, patches, clock, dataTypes } = options;
  const at = await ownerEdit(options, context, 404, async (cached, signal) => {
    const { owner, dataset } = cached;
    demandLasting(cached);
    const now = await withNewestMetadata(cached, store, signal);
    requireMetadataMatch(context.request.headers, now.sync.meta);
    const rules = publishingRules(now, dataTypes);
    const metadata = patches.check(now.metadata, wanted, new Date(clock.now()), rules);
    if (!metadata) throw wanted.faults.refusal();
    const result = { owner, dataset };
    if (wanted.changes.length === 0 || isDeepStrictEqual(metadata, now.metadata)) return { changes: [], result };
    const { modified, etag } = await store.put(objectKey(now, 'vdi-meta.json'), bytesOf(metadata), {}, signal);
    return {
      changes: [
        { set: 'metadata', metadata },
        { set: 'sync', part: 'meta', version: { modified, etag } },
      ],
      result,
    };
  });
  context.log.info({ ...at, fields: wanted.changes.map(({ path }) => path.join('.')) }, 'metadata changed');
  context.empty(204);
}

const bytesOf = (metadata: DatasetMetadata): Buffer => Buffer.from(serializeMetadata(metadata));
