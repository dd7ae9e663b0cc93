// GET /admin/reports/jobs: how much every lane has to do, and the jobs themselves page by page.

import { LANES } from '../../../engine/model/event.ts';
import {
  JOB_STATES,
  type JobAdmin,
  type JobEntry,
  type JobFilter,
  type JobPage,
} from '../../../engine/ports/job-admin.ts';
import type { Jobs, LaneDepth } from '../../../engine/ports/jobs.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { JobReport, type JobReportEntry } from '../schema/job-report.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface JobsReportOptions {
  readonly jobs: Pick<Jobs, 'depths'>;
  readonly jobAdmin: Pick<JobAdmin, 'list'>;
}

/** A lane that is stuck may hold a million jobs: there is no way to ask for all of them at once. */
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

export function jobsReportRoute({ jobs, jobAdmin }: JobsReportOptions): Route {
  return {
    method: 'GET',
    path: '/admin/reports/jobs',
    access: 'admin',
    operationId: 'reportJobs',
    summary: 'Lists the jobs of the lanes: queued, running, delayed and dead',
    query: {
      lane: { description: 'Only jobs of this lane', schema: { enum: LANES } },
      state: { description: 'Only jobs in this state', schema: { enum: JOB_STATES } },
      limit: {
        description: 'At most so many',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
      offset: {
        description: 'Skips so many',
        schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
      },
    },
    responses: {
      200: answer('Jobs, oldest first', JobReport),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is wrong' }),
    },
    handler: async (context) => {
      const page = pageOf(context);
      const depths = await jobs.depths(context.signal);
      const { jobs: found, total } = await jobAdmin.list(filterOf(context), page, context.signal);
      const report: JobReport = {
        meta: { count: found.length, offset: page.offset, limit: page.limit, total },
        lanes: depths.map(laneView),
        results: found.map(jobView),
      };
      await context.json(200, report);
    },
  };
}

function filterOf({ query }: RequestContext): JobFilter {
  const lane = LANES.find((one) => one === query.lane);
  const state = JOB_STATES.find((one) => one === query.state);
  return { ...(lane ? { lane } : {}), ...(state ? { state } : {}) };
}

const pageOf = ({ query }: RequestContext): JobPage => ({
  limit: typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT,
  offset: typeof query.offset === 'number' ? query.offset : 0,
});

const laneView = ({ oldestMs, ...depth }: LaneDepth): JobReport['lanes'][number] => ({
  ...depth,
  oldestSeconds: Math.floor(oldestMs / 1_000),
});

const jobView = (job: JobEntry): JobReportEntry => ({
  id: job.id,
  lane: job.lane,
  datasetId: job.dataset,
  owner: job.owner,
  state: job.state,
  tries: job.tries,
  eventId: job.eventId,
  ...(job.message === undefined ? {} : { message: job.message }),
  ...(job.runAt === undefined ? {} : { runAt: job.runAt.toISOString() }),
  created: job.created.toISOString(),
});
