// The job that a path names, and who asks for it. Holding the id of a job is the permission to read it.

import { type Collector, parseReportJobId, type ReportJobId } from '../../engine/model/report/report-job.ts';
import type { ReportJob, ReportJobs } from '../../engine/ports/report-jobs.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, type HttpError, notFound } from '../kernel/pipeline/errors.ts';
import type { RouteParameter } from '../kernel/pipeline/route.ts';

export interface LookupParts {
  readonly jobs: ReportJobs;
  readonly clock: Clock;
}

export const jobParam: Readonly<Record<string, RouteParameter>> = {
  id: { description: 'The report job, in either case', schema: { type: 'string', pattern: '^[\\dA-Fa-f]{32}$' } },
};

export const now = ({ clock }: Pick<LookupParts, 'clock'>): Date => new Date(clock.now());

/** 404 for what is no id: there is no such job. */
export function jobIdOf(context: RequestContext): ReportJobId {
  const text = context.param('id');
  const id = parseReportJobId(text);
  if (!id) throw noJob(text);
  return id;
}

export const noJob = (id: string): HttpError => notFound(`there is no report job '${id}'`);

/** Undefined for whoever has the Admin-Token, which has no collection; operators are people. */
export function collectorOf({ caller }: RequestContext): Collector | undefined {
  const person = caller.kind === 'admin' ? caller.operator : caller;
  if (person?.kind !== 'user' && person?.kind !== 'guest') return undefined;
  return { id: person.userId, guest: person.kind === 'guest' };
}

/** Of a route that lets only users and guests in. */
export function callersCollection(context: RequestContext): Collector {
  const collector = collectorOf(context);
  if (!collector) throw forbidden('this needs a user');
  return collector;
}

/** The job of the path, without putting it into a collection. */
export async function findJob(context: RequestContext, parts: LookupParts): Promise<ReportJob> {
  const id = jobIdOf(context);
  const access = await parts.jobs.read(id, undefined, now(parts), context.signal);
  if (!access) throw noJob(id);
  return access.job;
}

/** What is asked of a job whose files are not there: it waits, runs, failed or has expired. */
export const hasNoFiles = ({ id, status }: Pick<ReportJob, 'id' | 'status'>): HttpError =>
  forbidden(`report job ${id} is ${status}; only a complete one has files`);
