// Report jobs as callers see them. The caller passes the times. Ids are those of model/report-job.ts and already checked.

import type { ReportJobId } from '../model/report/report-job-id.ts';
import type {
  Collector,
  ReportFile,
  ReportRequest,
  ReportStatus,
  UserMeta,
  UserMetaChange,
} from '../model/report-job.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Traceparent } from '../model/traceparent.ts';

/** The collection that a job is added to. */
export interface ReportLink {
  readonly user: Collector;
  /** When the link exists already, only the given keys change. */
  readonly meta: UserMetaChange;
}

export interface SubmitRules {
  readonly now: Date;
  /** Maximum number of queued jobs. */
  readonly maxQueued: number;
  /** Maximum number of queued jobs of one tenant. */
  readonly maxQueuedPerTenant: number;
  /** The caller's tenant. */
  readonly tenant: Tenant;
  /** A job that failed after this instant is not retried yet. */
  readonly failedBefore: Date;
  /** Of the request that queues the job. */
  readonly traceparent?: Traceparent;
}

/**
 * `known`: the job exists and is unchanged; `full`: it would have to be queued, and nothing changed; `share-full`: the same,
 * because of the tenant's own jobs.
 */
export type Submission = 'queued' | 'known' | 'full' | 'share-full';

/** `refused`: the job has not expired. */
export type Requeued = 'queued' | 'refused' | 'absent' | 'full' | 'share-full';

export interface ReportJob extends ReportRequest {
  readonly status: ReportStatus;
  readonly created: Date;
  /** Start of the last attempt. */
  readonly started: Date | undefined;
  /** When it completed or failed. */
  readonly ended: Date | undefined;
  /** Number of the last attempt, 0 before the first. The files of a complete job lie below it. */
  readonly attempt: number;
  /** Why it failed. */
  readonly failure: string | undefined;
  /** To the minute: an access soon after another one is not recorded. */
  readonly accessed: Date;
}

export interface ReportReader {
  readonly user: Collector;
  /** Adds the job to the user's collection when it is not there. */
  readonly save: boolean;
}

export interface ReportAccess {
  readonly job: ReportJob;
  /** Of the reader's link; undefined when there is none. */
  readonly meta: UserMeta | undefined;
}

export interface FailedReport extends ReportRequest {
  readonly created: Date;
  readonly ended: Date;
  readonly failure: string;
}

export interface ReportJobs {
  /**
   * Queues a job that is absent, expired or failed long enough ago; one id is one job, however many callers submit it at once.
   * Adds it to the collection unless the answer is that it is full. Counts as an access. A queued job of a tenant with more
   * queued jobs than this one moves to this tenant.
   */
  submit(
    request: ReportRequest,
    link: ReportLink | undefined,
    rules: SubmitRules,
    signal: AbortSignal,
  ): Promise<Submission>;
  /** Queues an expired job; refuses any other. */
  requeue(id: ReportJobId, rules: Omit<SubmitRules, 'failedBefore'>, signal: AbortSignal): Promise<Requeued>;
  /** Counts as an access. */
  read(
    id: ReportJobId,
    reader: ReportReader | undefined,
    now: Date,
    signal: AbortSignal,
  ): Promise<ReportAccess | undefined>;
  /** Of a complete job, in the order in which they were written; none for any other job. In bounded memory. */
  files(id: ReportJobId, signal: AbortSignal): AsyncIterable<ReportFile>;
  /** The file of a complete job that has exactly this name. */
  file(id: ReportJobId, name: string, signal: AbortSignal): Promise<ReportFile | undefined>;
  /** The formatter's stderr; its last line says why it failed. Of a complete or failed job. */
  stderr(id: ReportJobId, signal: AbortSignal): Promise<string | undefined>;
  /** Statuses of the jobs that exist. Does not count as an access. */
  statuses(ids: readonly ReportJobId[], signal: AbortSignal): Promise<ReadonlyMap<ReportJobId, ReportStatus>>;
  /** Failed jobs, in order of ids. In bounded memory. */
  failed(signal: AbortSignal): AsyncIterable<FailedReport>;
}
