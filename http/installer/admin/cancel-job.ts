// POST /admin/rpc/jobs/{id}/cancel ends a running job, in any process.

import type { Static } from 'typebox';
import type { JobCancels } from '../../../engine/ports/job-cancels.ts';
import type { JobAdmin } from '../../../engine/ports/jobs.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS, nameOf } from './admin-route.ts';
import { concernDataset, JobId, jobId, unknownJob } from './jobs.ts';

/** Bounded so that the order fits into a notification of the database. */
const MAX_REASON = 1_000;

const CancelInput = Type.Named(
  'CancelInput',
  {
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_REASON, description: 'For other operators' })),
    hard: Type.Optional(
      Type.Boolean({
        description: 'Kills the thread or script at once; default false: it gets a moment to end by itself',
      }),
    ),
  },
  CLOSED,
);

const JobCancelling = Type.Named('JobCancelling', { id: JobId, state: Type.Enum(['cancelling']) });
type JobCancelling = Static<typeof JobCancelling>;

interface JobCancelOptions {
  readonly cancels: Pick<JobCancels, 'ask'>;
  readonly jobAdmin: Pick<JobAdmin, 'dataset'>;
}

export function jobCancelRoute({ cancels, jobAdmin }: JobCancelOptions): Route {
  const read = checkedJsonBody(CancelInput, { notAnObject: 422 });
  return {
    method: 'POST',
    servedWhenFull: true,
    path: '/admin/rpc/jobs/:id/cancel',
    access: 'admin',
    operationId: 'cancelJob',
    summary: 'Ends a running job: it is dead, and runs again only when it is retried',
    params: { id: { description: 'Job id from the job report', schema: { type: 'integer', minimum: 1 } } },
    body: { description: 'Why, and how; may be empty', content: { 'application/json': { ...CancelInput } } },
    responses: {
      202: answer('The process that runs it is told. If the job ends before, its own end counts', JobCancelling),
      ...refusals({
        ...ADMIN_REFUSALS,
        400: 'The body is not JSON or too large',
        404: 'There is no such job',
        409: 'The job is not running',
        415: 'The body is not JSON',
        422: 'The body is invalid',
      }),
    },
    handler: async (context) => {
      const text = context.param('id');
      const id = jobId(text);
      if (id === undefined) throw unknownJob(text);
      const { reason, hard = false } = await read(context.request);
      await concernDataset(context, jobAdmin, id);
      const by = nameOf(context.caller);
      const found = await cancels.ask({ job: id, by, reason, hard }, context.signal);
      switch (found) {
        case 'asked': {
          const cancelling: JobCancelling = { id, state: 'cancelling' };
          return context.json(202, cancelling);
        }
        case 'not-found':
          throw unknownJob(text);
        case 'not-running':
          throw conflict(`job ${id} is not running; only a running job can be cancelled`);
        default:
          return found satisfies never;
      }
    },
  };
}
