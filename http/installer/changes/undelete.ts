// POST /datasets/{id}/undelete: takes a deletion back while the retention window is open. The lanes install it again, and
// bring its older revisions back with it.

import type { DatasetId } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { KeptBytes } from '../../../engine/ports/kept-bytes.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest, forbidden, gone, type HttpError } from '../../kernel/pipeline/errors.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { type OwnerEditOptions, ownerEdit } from './owner-edit.ts';

export interface UndeleteOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'head' | 'remove'>;
  /** Waits for no row of a dataset: it is asked while one is locked. */
  readonly kept: Pick<KeptBytes, 'usage'>;
  /** Bytes that one user may keep. */
  readonly quotaBytes: number;
  /** How long a dataset stays marked deleted, in ms. */
  readonly retentionMs: number;
}

export function undeleteRoute(options: UndeleteOptions): Route {
  return {
    method: 'POST',
    path: '/datasets/:id/undelete',
    access: 'user-or-admin',
    operationId: 'undeleteDataset',
    summary: 'Takes the deletion of a dataset back',
    params: datasetParam,
    responses: {
      204: { description: 'The dataset is back and is installed again; also when it was not deleted' },
      ...refusals({
        400: 'The owner keeps more than the storage quota allows',
        403: 'Not the owner, or a newer revision replaced it',
        404: 'No such dataset',
        410: 'The retention window has ended',
      }),
    },
    handler: (context) => undelete(options, context),
  };
}

async function undelete(options: UndeleteOptions, context: RequestContext): Promise<void> {
  const { store, kept, quotaBytes, clock, retentionMs } = options;
  const at = await ownerEdit(options, context, 410, async (now, signal) => {
    const { owner, dataset, state } = now;
    const result = { owner, dataset };
    if (state === 'live') return { changes: [], result };
    if (state === 'pruning') throw over(dataset);
    if (state === 'superseded' || (await store.head(objectKey(now, 'revised-flag'), signal)))
      throw forbidden(`dataset ${dataset} was replaced by a newer revision; undelete that one`);
    const flag = await store.head(objectKey(now, 'delete-flag'), signal);
    if (flag && clock.now() - flag.modified.getTime() > retentionMs) throw over(dataset);
    const used = await kept.usage(owner, signal);
    if (used > quotaBytes)
      throw badRequest(
        `dataset ${dataset} cannot be taken back: of the storage quota of ${quotaBytes} bytes, ${used} are used and 0 are left`,
      );
    // The pruner takes a dataset under the same lock: either it was first, or it finds the dataset live.
    await store.remove([objectKey(now, 'delete-flag')], signal);
    return { changes: [{ set: 'state', state: 'live' }], result };
  });
  context.log.info(at, 'deletion taken back');
  context.empty(204);
}

const over = (dataset: DatasetId): HttpError => gone(`dataset ${dataset} was deleted too long ago to be taken back`);
