// DELETE /datasets/{id} marks a dataset deleted. The lanes uninstall it and its older revisions. It can be restored until
// the retention window ends; then the pruner removes it for good. POST /datasets/{id}/undelete restores it; the lanes install
// it again, with its older revisions.

import type { DatasetId } from '../../engine/model/ids.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { olderRevisions } from '../../engine/model/older-revisions.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { StoredBytes } from '../../engine/ports/storage-room.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { badRequest, forbidden, gone, type HttpError } from '../kernel/pipeline/errors.ts';
import { type Route, refusals } from '../kernel/pipeline/route.ts';
import { noDataset } from './access.ts';
import { type OwnerEditOptions, ownerEdit } from './dataset-edit.ts';
import { datasetParam } from './dataset-terms.ts';

interface DeleteOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'put'>;
}

export function deleteRoute(options: DeleteOptions): Route {
  return {
    method: 'DELETE',
    path: '/datasets/:id',
    access: 'user-or-admin',
    operationId: 'deleteDataset',
    summary: 'Deletes a dataset with all its revisions',
    params: datasetParam,
    responses: {
      204: { description: 'Deleted; can be undeleted until the retention window ends' },
      ...refusals({ 403: 'Not the owner, or a newer revision exists', 404: 'No such dataset' }),
    },
    handler: (context) => remove(options, context),
  };
}

async function remove(options: DeleteOptions, context: RequestContext): Promise<void> {
  const at = await ownerEdit(options, context, 404, async (now, signal) => {
    const { owner, dataset, state, newer } = now;
    switch (state) {
      case 'superseded':
        throw replaced(dataset);
      case 'pruning':
        throw noDataset(dataset);
      // The client repeats a request whose answer was lost, for example in a crash after the flag was written.
      case 'deleting':
      case 'deleted':
        return { changes: [], result: { owner, dataset } };
      case 'live':
      case 'receiving':
        break;
      default:
        throw state satisfies never;
    }
    if (newer) throw replaced(dataset, newer.dataset);
    // Flag the older revisions now, not when a lane gets to them: no request after this answer may be led to one of them.
    // Flag them last: a lane that finds them flagged and the newest one not would take the deletion for undone.
    for (const id of [dataset, ...now.older])
      await options.store.put(objectKey({ owner, dataset: id }, 'delete-flag'), new Uint8Array(), {}, signal);
    return { changes: [{ set: 'state', state: 'deleting' }, { set: 'olderDeleted' }], result: { owner, dataset } };
  });
  context.log.info(at, 'dataset deleted');
  context.empty(204);
}

const replaced = (dataset: DatasetId, newest?: DatasetId): Error =>
  forbidden(
    newest
      ? `dataset ${dataset} has a newer revision; delete ${newest}, and this one goes with it`
      : `dataset ${dataset} was replaced by a newer revision; delete that one, and this one goes with it`,
  );

interface UndeleteOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'head' | 'remove'>;
  /** Is called while the dataset's row is locked, so it must not lock any dataset's row itself. */
  readonly kept: Pick<StoredBytes, 'usage'>;
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
    summary: 'Undeletes a dataset',
    params: datasetParam,
    responses: {
      204: { description: 'The dataset is restored and will be installed again; also if it was not deleted' },
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
        `dataset ${dataset} cannot be undeleted: of the storage quota of ${quotaBytes} bytes, ${used} are used and 0 are left`,
      );
    // The pruner works under the same lock: either it came first, or it finds the dataset live.
    // Its older revisions are replaced again at once: if the store's announcement is lost, nothing else finds that their flags
    // are those of a deletion that was undone. What never was replaced is left to reconciliation, which flags it first.
    const flagged = [objectKey(now, 'delete-flag')];
    for (const id of olderRevisions(now.metadata, dataset)) {
      const older = { owner, dataset: id };
      if (await store.head(objectKey(older, 'revised-flag'), signal)) flagged.push(objectKey(older, 'delete-flag'));
    }
    await store.remove(flagged, signal);
    return { changes: [{ set: 'state', state: 'live' }], result };
  });
  context.log.info(at, 'dataset undeleted');
  context.empty(204);
}

const over = (dataset: DatasetId): HttpError => gone(`dataset ${dataset} was deleted too long ago to be undeleted`);
