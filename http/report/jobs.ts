// The report jobs of the caller's collection, and single jobs by id: list, details, notes, removal, requeueing.

import { parseQueryJobId } from '../../engine/model/report/query-job.ts';
import { parseReportJobId, type ReportStatus, type UserMeta } from '../../engine/model/report/report-job.ts';
import type { ReportCollections, ReportJobs } from '../../engine/ports/report-jobs.ts';
import { jsonBody, readJsonList } from '../kernel/bodies/body.ts';
import { Faults } from '../kernel/input/faults.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, notFound } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type CreateParts, queueIsFull, queueRules, shareIsFull } from './create.ts';
import { callersCollection, collectorOf, jobIdOf, jobParam, noJob, now } from './job-lookup.ts';
import {
  changedMeta,
  JobDetails,
  JobList,
  MAX_IDS,
  PatchChecks,
  PatchRequest,
  Statuses,
  StatusesRequest,
} from './schema.ts';

export interface JobsParts extends CreateParts {
  readonly collections: ReportCollections;
}

const NOT_COLLECTED = "It is not in the caller's collection";
const ABSENT = 'There is no such job';

export function jobRoutes(parts: JobsParts): readonly Route[] {
  const readPatch = jsonBody(PatchChecks);
  const one = { path: '/jobs/:id', params: jobParam } as const;
  const access = 'user-or-guest';
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/jobs',
      access,
      operationId: 'listReportJobs',
      summary: "Lists the caller's report jobs, newest first",
      query: {
        query_job_id: {
          description: 'Only jobs of this query job; none if it is not a valid id',
          schema: { type: 'string' },
        },
      },
      responses: {
        200: answer('The jobs', JobList),
        304: { description: 'Not modified: the caller has the current version' },
        ...refusals({}),
      },
      handler: (context) => list(context, parts),
    },
    {
      ...one,
      method: 'GET',
      audit: 'none',
      access: 'anyone-known',
      operationId: 'getReportJob',
      summary: 'Shows a report job, whoever requested it',
      query: {
        save_job: {
          description: "Whether to add it to the caller's collection",
          schema: { type: 'boolean', default: true },
        },
      },
      responses: {
        200: answer('The job, with all options that the report depends on', JobDetails),
        ...refusals({ 403: 'The Admin-Token is wrong', 404: ABSENT }),
      },
      handler: (context) => show(context, parts),
    },
    {
      ...one,
      method: 'PATCH',
      access,
      operationId: 'annotateReportJob',
      summary: "Changes the caller's notes about a job; null clears",
      body: { description: 'Fields to change', content: { 'application/json': { ...PatchRequest } } },
      responses: {
        204: { description: 'Changed' },
        ...refusals({
          400: 'The body is not a JSON object, or larger than 512 KiB',
          404: NOT_COLLECTED,
          415: 'The body is not JSON',
          422: 'Values are not accepted',
        }),
      },
      handler: async (context) => {
        const id = jobIdOf(context);
        const { given, faults } = await readPatch(context.request);
        faults.throwIfAny();
        const change = changedMeta(given.userMeta);
        if (!(await parts.collections.annotate(callersCollection(context), id, change, context.signal)))
          throw notCollected(id);
        context.empty(204);
      },
    },
    {
      ...one,
      method: 'POST',
      access,
      operationId: 'requeueReportJob',
      summary: 'Queues an expired job again',
      responses: {
        204: { description: 'Queued' },
        ...refusals({ 403: 'The job has not expired', 404: ABSENT, 429: 'Too many jobs of the caller wait' }),
      },
      handler: (context) => requeue(context, parts),
    },
    {
      ...one,
      method: 'DELETE',
      access,
      operationId: 'removeReportJob',
      summary: "Removes a job from the caller's collection only",
      responses: { 204: { description: 'Removed' }, ...refusals({ 404: NOT_COLLECTED }) },
      handler: async (context) => {
        const id = jobIdOf(context);
        if (!(await parts.collections.remove(callersCollection(context), id, context.signal))) throw notCollected(id);
        context.empty(204);
      },
    },
  ];
}

const notCollected = (id: string): Error => notFound(`report job '${id}' is not in your collection`);

async function list(context: RequestContext, { collections }: JobsParts): Promise<void> {
  const user = callersCollection(context);
  const { query_job_id: asked } = context.query;
  const queryId = asked === undefined ? undefined : parseQueryJobId(String(asked));
  // No query job has a malformed id, so no report job belongs to it.
  if (asked !== undefined && !queryId) return context.jsonList(none());
  const entries = collections.list(user, { queryId }, context.signal);
  const shown = async function* () {
    for await (const { id, queryId, status, meta } of entries)
      yield { reportJobID: id, queryJobID: queryId, status, ...userMeta(meta) };
  };
  return context.jsonList(shown());
}

async function* none(): AsyncGenerator<never> {}

async function show(context: RequestContext, parts: JobsParts): Promise<void> {
  const id = jobIdOf(context);
  const user = collectorOf(context);
  const reader = user && { user, save: context.query.save_job !== false };
  const found = await parts.jobs.read(id, reader, now(parts), context.signal);
  if (!found) throw noJob(id);
  const { job, meta } = found;
  await context.json(200, {
    reportJobID: id,
    queryJobID: job.queryId,
    status: job.status,
    blastConfig: job.configuration,
    ...userMeta(meta),
  });
}

/** Leaves out empty notes. */
const userMeta = (meta: UserMeta = {}): { readonly userMeta?: UserMeta } =>
  Object.keys(meta).length === 0 ? {} : { userMeta: meta };

async function requeue(context: RequestContext, parts: JobsParts): Promise<void> {
  const { jobs, limits } = parts;
  const id = jobIdOf(context);
  const answered = await jobs.requeue(id, queueRules(context, parts), context.signal);
  switch (answered) {
    case 'queued':
      context.log.info({ report: id }, 'expired report queued again');
      return context.empty(204);
    case 'refused':
      throw forbidden(`report job ${id} has not expired`);
    case 'absent':
      throw noJob(id);
    case 'full':
      throw queueIsFull(limits);
    case 'share-full':
      throw shareIsFull(limits, context);
    default:
      return answered satisfies never;
  }
}

/** POST /statuses: how far many jobs are, in one request. */
export function statusesRoute({ jobs }: { readonly jobs: Pick<ReportJobs, 'statuses'> }): Route {
  return {
    method: 'POST',
    servedWhenFull: true,
    path: '/statuses',
    access: 'user-or-guest',
    operationId: 'getReportStatuses',
    summary: 'Returns the statuses of jobs by id; unknown ids are omitted, and nothing counts as an access',
    body: { description: 'Job ids', content: { 'application/json': { ...StatusesRequest } } },
    responses: {
      200: answer('By the ids as they were sent', Statuses),
      ...refusals({
        400: 'The body is not a JSON list, or larger than 512 KiB',
        415: 'The body is not JSON',
        422: 'The list is too long',
      }),
    },
    handler: async (context) => {
      const list = await readJsonList(context.request);
      if (list.length > MAX_IDS) throw tooMany(list.length);
      const ids = list.flatMap((text) => {
        const id = typeof text === 'string' ? parseReportJobId(text) : undefined;
        return id && typeof text === 'string' ? [[text, id] as const] : [];
      });
      const found = await jobs.statuses(
        ids.map(([, id]) => id),
        context.signal,
      );
      const statuses: Record<string, ReportStatus> = {};
      for (const [text, id] of ids) {
        const status = found.get(id);
        if (status) statuses[text] = status;
      }
      await context.json(200, statuses);
    },
  };
}

function tooMany(count: number): Error {
  const faults = new Faults();
  faults.add([], `the list has ${count} ids; at most ${MAX_IDS} are allowed`);
  return faults.refusal();
}
