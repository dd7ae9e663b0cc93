// DELETE /datasets/{id}: marks a dataset deleted. It stays recoverable for the retention window (undelete.ts); the lanes
// uninstall it, and its older revisions with it, and the pruner removes it for good.

import type { DatasetId } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden, notFound } from '../../kernel/pipeline/errors.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { datasetParam } from '../schema/dataset-param.ts';
import { type OwnerEditOptions, ownerEdit } from './owner-edit.ts';

export interface DeleteOptions extends OwnerEditOptions {
  readonly store: Pick<ObjectStore, 'put'>;
}

export function deleteRoute(options: DeleteOptions): Route {
  return {
    method: 'DELETE',
    path: '/datasets/:id',
    access: 'user-or-admin',
    operationId: 'deleteDataset',
    summary: 'Marks a dataset deleted, with all its revisions',
    params: datasetParam,
    responses: {
      204: { description: 'Deleted; it can be taken back until the retention window ends' },
      ...refusals({ 403: 'Not the owner, or a newer revision is there', 404: 'No such dataset' }),
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
        throw notFound(`there is no dataset '${dataset}'`);
      // Said before; a crash may have come between the flag and the answer.
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
    // Older revisions at once, not when a lane comes to it: whoever asks after the answer must not be led to one of them.
    // They come last: without the newest one's flag, their own would be taken for a deletion that was taken back.
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
