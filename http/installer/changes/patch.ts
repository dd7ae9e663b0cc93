// PATCH /datasets/{id}: changes what a dataset says about itself. The stored document is put and the cache follows, in one
// edit; the lanes then bring the install targets in line.

import { isDeepStrictEqual } from 'node:util';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import { type DatasetMetadata, serialiseMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { readJson } from '../../kernel/bodies/body.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type DetailsPatch, readDetailsPatch } from '../checks/details-patch.ts';
import type { PatchCheck } from '../checks/patch-check.ts';
import { publishingRules } from '../checks/publishing-rules.ts';
import { requireMetadataMatch } from '../details/dataset-tag.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { ifMatch } from '../schema/if-match.ts';
import { PatchDetails } from '../schema/patch-details.ts';
import { demandLasting } from './demand-newest.ts';
import { type MetadataSource, withNewestMetadata } from './newest-metadata.ts';
import { type OwnerEditOptions, ownerEdit } from './owner-edit.ts';

export interface PatchOptions extends OwnerEditOptions {
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
    body: { description: 'The fields to change; the others stay', content: { 'application/json': PatchDetails } },
    responses: {
      204: { description: 'Changed' },
      ...refusals({
        400: 'The body is no JSON or too large',
        403: 'Not the owner, or the dataset is deleted, or a newer revision replaces it',
        404: 'No such dataset',
        412: 'The metadata are not those that If-Match names',
        415: 'The body is no JSON',
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

const bytesOf = (metadata: DatasetMetadata): Buffer => Buffer.from(serialiseMetadata(metadata));
