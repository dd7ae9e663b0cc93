// GET /admin/reports/jobs: the load of every lane, and the jobs in pages. POST /admin/rpc/jobs/{id}/retry puts a delayed or
// dead job back into its lane's queue.

import type { Static } from 'typebox';
import { LANES } from '../../../engine/model/event.ts';
import {
  JOB_STATES,
  type JobAdmin,
  type JobEntry,
  type JobFilter,
  type JobPage,
  type Jobs,
  type LaneDepth,
} from '../../../engine/ports/jobs.ts';
import type { Pause, Pauses } from '../../../engine/ports/pauses.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { conflict, type HttpError, notFound } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime, VdiId } from '../dataset-terms.ts';
import { ADMIN_REFUSALS, Count } from './admin-route.ts';
import { PauseDetail, pauseDetail } from './pauses.ts';

export const JobId = Type.Integer({ minimum: 1, format: 'int64' });
const Lane = Type.Enum([...LANES], { title: 'LaneName' });

const LaneReport = Type.Named('LaneReport', {
  lane: Lane,
  queued: Count,
  running: Count,
  delayed: Count,
  dead: Count,
  oldestSeconds: Type.Integer({ minimum: 0, description: 'Seconds that the oldest runnable job has waited' }),
  paused: Type.Optional(PauseDetail),
});

const JobReportEntry = Type.Named('JobReportEntry', {
  id: JobId,
  lane: Lane,
  datasetId: VdiId,
  owner: UserIdOutput,
  state: Type.Enum([...JOB_STATES]),
  attempts: Type.Integer({ minimum: 0, description: 'Failed attempts so far' }),
  eventId: Type.Integer({ format: 'int64' }),
  message: Type.Optional(Type.String({ description: 'Why the last attempt failed' })),
  runAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'Earliest time of the next attempt; absent for dead jobs' }),
  ),
  created: Datetime,
});
type JobReportEntry = Static<typeof JobReportEntry>;

const JobReport = Type.Named('JobReport', {
  meta: Type.Object({ count: Count, offset: Count, limit: Type.Integer({ minimum: 1 }), total: Count }),
  lanes: Type.Array(LaneReport, { description: 'All lanes, regardless of the filter' }),
  results: Type.Array(JobReportEntry, { description: 'Oldest first' }),
});
type JobReport = Static<typeof JobReport>;

const JobRetried = Type.Named('JobRetried', { id: JobId, state: Type.Enum(['queued']) });
type JobRetried = Static<typeof JobRetried>;

interface JobsReportOptions {
  readonly jobs: Pick<Jobs, 'depths'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly jobAdmin: Pick<JobAdmin, 'list'>;
}

/** A stuck lane can hold a million jobs, so there is no way to ask for all at once. */
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

export function jobsReportRoute({ jobs, jobAdmin, pauses }: JobsReportOptions): Route {
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
        description: 'Maximum number of items',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
      offset: {
        description: 'Number of items to skip',
        schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
      },
    },
    responses: {
      200: answer('Jobs, oldest first', JobReport),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
    },
    handler: async (context) => {
      const page = pageOf(context);
      const depths = await jobs.depths(context.signal);
      const paused = await pauses.list(context.signal);
      const { jobs: found, total } = await jobAdmin.list(filterOf(context), page, context.signal);
      const report: JobReport = {
        meta: { count: found.length, offset: page.offset, limit: page.limit, total },
        lanes: depths.map((depth) => laneView(depth, paused)),
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

function laneView({ oldestMs, ...depth }: LaneDepth, pauses: readonly Pause[]): JobReport['lanes'][number] {
  const pause = pauses.find(({ kind, name }) => kind === 'lane' && name === depth.lane);
  return {
    ...depth,
    oldestSeconds: Math.floor(oldestMs / 1_000),
    ...(pause ? { paused: pauseDetail(pause) } : {}),
  };
}

const jobView = (job: JobEntry): JobReportEntry => ({
  id: job.id,
  lane: job.lane,
  datasetId: job.dataset,
  owner: job.owner,
  state: job.state,
  attempts: job.attempts,
  eventId: job.eventId,
  ...(job.message === undefined ? {} : { message: job.message }),
  ...(job.runAt === undefined ? {} : { runAt: job.runAt.toISOString() }),
  created: job.created.toISOString(),
});

interface JobRetryOptions {
  readonly jobAdmin: Pick<JobAdmin, 'retry' | 'dataset'>;
}

export function jobRetryRoute({ jobAdmin }: JobRetryOptions): Route {
  return {
    method: 'POST',
    servedWhenFull: true,
    path: '/admin/rpc/jobs/:id/retry',
    access: 'admin',
    operationId: 'retryJob',
    summary: 'Retries a delayed or dead job, with its full number of attempts',
    params: { id: { description: 'Job id from the job report', schema: { type: 'integer', minimum: 1 } } },
    responses: {
      202: answer('The job is queued', JobRetried),
      ...refusals({ ...ADMIN_REFUSALS, 404: 'There is no such job', 409: 'The job is running' }),
    },
    handler: async (context) => {
      const text = context.param('id');
      const id = jobId(text);
      if (id === undefined) throw unknownJob(text);
      await concernDataset(context, jobAdmin, id);
      const result = await jobAdmin.retry(id, context.signal);
      switch (result) {
        case 'queued': {
          context.log.info({ job: id }, 'job retried by an administrator');
          const retried: JobRetried = { id, state: result };
          return context.json(202, retried);
        }
        case 'not-found':
          throw unknownJob(text);
        case 'running':
          throw conflict(`job ${id} is running; it can be retried once it is delayed or dead`);
        default:
          return result satisfies never;
      }
    },
  };
}

/** Records the order under the job's dataset, in the audit trail and thereby in the dataset's history. */
export async function concernDataset(
  context: RequestContext,
  jobAdmin: Pick<JobAdmin, 'dataset'>,
  id: number,
): Promise<void> {
  const dataset = await jobAdmin.dataset(id, context.signal);
  if (dataset !== undefined) context.concerns({ dataset });
}

/** Undefined when the text is no job id. */
export function jobId(text: string): number | undefined {
  const id = Number(text);
  return /^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}

export const unknownJob = (id: string): HttpError => notFound(`there is no job '${id}'; it may have ended meanwhile`);
