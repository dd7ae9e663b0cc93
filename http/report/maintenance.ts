// Routes for administrators of report jobs: let jobs expire early, and list failed jobs.

import type { FailedReport, ReportExpiry, ReportJobs } from '../../engine/ports/report-jobs.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { conflict } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { jobIdOf, jobParam, noJob, now } from './job-lookup.ts';
import { BrokenJobs } from './schema.ts';

export interface MaintenanceParts {
  readonly jobs: Pick<ReportJobs, 'failed'>;
  readonly expiry: Pick<ReportExpiry, 'expire' | 'expireOne'>;
  readonly clock: Clock;
}

const BATCH = 500;
const WRONG_TOKEN = 'The Admin-Token is wrong';

export function maintenanceRoutes(parts: MaintenanceParts): readonly Route[] {
  const access = 'admin';
  return [
    {
      method: 'DELETE',
      path: '/maintenance/cache',
      access,
      operationId: 'expireReportJobs',
      summary: 'Expires all finished jobs; their files are removed soon after',
      responses: { 204: { description: 'Expired' }, ...refusals({ 403: WRONG_TOKEN }) },
      handler: (context) => expireAll(context, parts),
    },
    {
      method: 'DELETE',
      path: '/maintenance/cache/:id',
      access,
      operationId: 'expireReportJob',
      summary: 'Expires a job',
      params: jobParam,
      responses: {
        204: { description: 'Expired' },
        ...refusals({ 403: WRONG_TOKEN, 404: 'There is no such job', 409: 'The job has not ended' }),
      },
      handler: (context) => expireOne(context, parts),
    },
    {
      method: 'GET',
      path: '/maintenance/broken-jobs',
      access,
      operationId: 'listBrokenReportJobs',
      summary: 'Lists failed jobs and their reasons',
      responses: {
        200: answer('The jobs', BrokenJobs),
        304: { description: 'Not modified: the caller has the current version' },
        ...refusals({ 403: WRONG_TOKEN }),
      },
      handler: (context) => context.jsonList(broken(parts.jobs.failed(context.signal))),
    },
  ];
}

async function expireAll(context: RequestContext, { expiry, clock }: MaintenanceParts): Promise<void> {
  // Jobs that end from now on are left alone, so this loop terminates.
  const before = now({ clock });
  let expired = 0;
  for (let batch = BATCH; batch === BATCH; expired += batch) batch = await expiry.expire(before, BATCH, context.signal);
  context.log.info({ expired }, 'reports expired on demand');
  context.empty(204);
}

async function expireOne(context: RequestContext, { expiry }: MaintenanceParts): Promise<void> {
  const id = jobIdOf(context);
  const answered = await expiry.expireOne(id, context.signal);
  if (answered === 'absent') throw noJob(id);
  if (answered === 'running') throw conflict(`report job ${id} has not ended`);
  context.log.info({ report: id }, 'report expired on demand');
  context.empty(204);
}

async function* broken(jobs: AsyncIterable<FailedReport>): AsyncGenerator<object> {
  for await (const { id, queryId, configuration, created, ended, failure } of jobs)
    yield {
      reportJobID: id,
      rawConfig: { queryJobID: queryId, blastConfig: configuration },
      createdOn: created.toISOString(),
      failedOn: ended.toISOString(),
      reason: failure,
    };
}
