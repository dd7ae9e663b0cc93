// POST /datasets/{id}/retry: the owner retries a failed upload or import, once. If the data were at fault, a retry would not help:
// the owner uploads a revision.

import type { Static } from 'typebox';
import type { EditableDataset } from '../../engine/ports/dataset-edits.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { OwnerRetries, OwnerRetry } from '../../engine/ports/problems.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import { conflict } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { demandNewest, type OwnerEditOptions, ownerEdit } from './dataset-edit.ts';
import { datasetParam, VdiId } from './dataset-terms.ts';

const Retried = Type.Named('RetriedDataset', { datasetId: VdiId });
type Retried = Static<typeof Retried>;

interface RetryOptions extends OwnerEditOptions {
  readonly problems: OwnerRetries;
  readonly eventLog: Pick<EventLog, 'nextEventId'>;
}

const REFUSALS: Readonly<Record<Exclude<OwnerRetry, 'done'>, string>> = {
  'asked-before': 'it failed again after your retry; an administrator can retry it',
  'not-failed': 'neither its upload nor its import has failed',
  'not-theirs': 'an operator stopped it; upload a revision, or ask an administrator to retry it',
  'files-gone': 'the uploaded files are gone; upload a revision',
  busy: 'it is being changed at this moment; try again',
};

export function retryRoute(options: RetryOptions): Route {
  return {
    method: 'POST',
    path: '/datasets/:id/retry',
    access: 'user',
    operationId: 'retryDataset',
    summary: 'Repeats an upload or import that failed through no fault of its owner, once',
    params: datasetParam,
    responses: {
      202: answer('The step is repeated; the status of the dataset shows it', Retried),
      ...refusals({
        403: 'Not the owner, or the dataset is deleted or superseded',
        404: 'No such dataset',
        409: 'It has not failed, its data are invalid, or it was repeated before',
      }),
    },
    handler: async (context) => {
      const { dataset } = await ownerEdit(options, context, 404, async (now) => {
        demandNewest(now);
        demandNoFault(now);
        return { changes: [], result: now };
      });
      const eventId = await options.eventLog.nextEventId(context.signal);
      const outcome = await options.problems.retryOnce(dataset, eventId, context.signal);
      if (outcome !== 'done') throw conflict(`dataset ${dataset} cannot be retried: ${REFUSALS[outcome]}`);
      context.log.info({ dataset }, 'dataset retried by its owner');
      const retried: Retried = { datasetId: dataset };
      await context.json(202, retried);
    },
  };
}

function demandNoFault({ dataset, upload, import: imported }: EditableDataset): void {
  const status = upload.status === 'rejected' ? upload.status : imported?.status;
  if (status !== 'rejected' && status !== 'invalid') return;
  throw conflict(`dataset ${dataset} is ${status}: a retry would not help; upload a revision with other data`);
}
