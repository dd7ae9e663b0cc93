// Finds the job in a path, and its caller. A caller who knows the id of a job may read it.

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
  id: { description: 'Report job id; case does not matter', schema: { type: 'string', pattern: '^[\\dA-Fa-f]{32}$' } },
};

export const now = ({ clock }: Pick<LookupParts, 'clock'>): Date => new Date(clock.now());

/** Throws 404 for a malformed id, because there is no such job. */
export function jobIdOf(context: RequestContext): ReportJobId {
  const text = context.param('id');
  const id = parseReportJobId(text);
  if (!id) throw noJob(text);
  return id;
}

export const noJob = (id: string): HttpError => notFound(`there is no report job '${id}'`);

/** Undefined for a caller with the Admin-Token, who has no collection. Operators are people and have one. */
export function collectorOf({ caller }: RequestContext): Collector | undefined {
  const person = caller.kind === 'admin' ? caller.operator : caller;
  if (person?.kind !== 'user' && person?.kind !== 'guest') return undefined;
  return { id: person.userId, guest: person.kind === 'guest' };
}

/** The caller's collection, for routes that only users and guests may call. */
export function callersCollection(context: RequestContext): Collector {
  const collector = collectorOf(context);
  if (!collector) throw forbidden('this needs a user');
  return collector;
}

/** Finds the job of the path, without adding it to a collection. */
export async function findJob(context: RequestContext, parts: LookupParts): Promise<ReportJob> {
  const id = jobIdOf(context);
  const access = await parts.jobs.read(id, undefined, now(parts), context.signal);
  if (!access) throw noJob(id);
  return access.job;
}

/** The error when a job has no files, because it waits, runs, failed or has expired. */
export const hasNoFiles = ({ id, status }: Pick<ReportJob, 'id' | 'status'>): HttpError =>
  forbidden(`report job ${id} is ${status}; only a complete one has files`);
