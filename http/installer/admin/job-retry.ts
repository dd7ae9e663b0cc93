// POST /admin/rpc/jobs/{id}/retry: a delayed or dead job is put back into its lane's queue.

import type { JobAdmin } from '../../../engine/ports/job-admin.ts';
import { conflict, type HttpError, notFound } from '../../kernel/pipeline/errors.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { JobRetried } from '../schema/job-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface JobRetryOptions {
  readonly jobAdmin: Pick<JobAdmin, 'retry'>;
}

export function jobRetryRoute({ jobAdmin }: JobRetryOptions): Route {
  return {
    method: 'POST',
    needsNoRoom: true,
    path: '/admin/rpc/jobs/:id/retry',
    access: 'admin',
    operationId: 'retryJob',
    summary: 'Has a delayed or dead job tried again, with all its tries before it',
    params: { id: { description: 'The job, as the report of jobs names it', schema: { type: 'integer', minimum: 1 } } },
    responses: {
      202: answer('The job is queued', JobRetried),
      ...refusals({ ...ADMIN_REFUSALS, 404: 'There is no such job', 409: 'The job is running' }),
    },
    handler: async (context) => {
      const text = context.param('id');
      const id = jobId(text);
      if (id === undefined) throw unknown(text);
      const result = await jobAdmin.retry(id, context.signal);
      switch (result) {
        case 'queued': {
          context.log.info({ job: id }, 'job put back into the queue by an administrator');
          const retried: JobRetried = { id, state: result };
          return context.json(202, retried);
        }
        case 'not-found':
          throw unknown(text);
        case 'running':
          throw conflict(`job ${id} is running; it can be tried again once it is delayed or dead`);
        default:
          return result satisfies never;
      }
    },
  };
}

/** Undefined for what no job is called. */
function jobId(text: string): number | undefined {
  const id = Number(text);
  return /^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}

const unknown = (id: string): HttpError => notFound(`there is no job '${id}'; it may have ended meanwhile`);
