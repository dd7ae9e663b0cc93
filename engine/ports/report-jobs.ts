// Report jobs as callers see them. Times are the caller's. Ids are those of model/report-job.ts, checked before.

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

/** Into whose collection a job goes. */
export interface ReportLink {
  readonly user: Collector;
  /** Of a link that is there already, only what is given changes. */
  readonly meta: UserMetaChange;
}

export interface SubmitRules {
  readonly now: Date;
  /** Jobs that may wait. */
  readonly maxQueued: number;
  /** Jobs of one tenant that may wait. */
  readonly maxQueuedPerTenant: number;
  /** Who asks. */
  readonly tenant: Tenant;
  /** A job that failed after this instant is not run again yet. */
  readonly failedBefore: Date;
  /** Of the request for which a job waits from now on. */
  readonly traceparent?: Traceparent;
}

/**
 * `known`: there is such a job and it stays as it is; `full`: it would have to wait, and nothing changed; `share-full`: the same,
 * because of the tenant's own jobs.
 */
export type Submission = 'queued' | 'known' | 'full' | 'share-full';

/** `refused`: the job has not expired. */
export type Requeued = 'queued' | 'refused' | 'absent' | 'full' | 'share-full';

export interface ReportJob extends ReportRequest {
  readonly status: ReportStatus;
  readonly created: Date;
  /** Of the last attempt. */
  readonly started: Date | undefined;
  /** When it was complete or failed. */
  readonly ended: Date | undefined;
  /** Number of the last attempt, 0 before the first: the files of a complete job lie below it. */
  readonly attempt: number;
  /** Why it failed. */
  readonly failure: string | undefined;
  /** To the minute: an access soon after another one is not noted. */
  readonly accessed: Date;
}

export interface ReportReader {
  readonly user: Collector;
  /** Puts the job into the user's collection when it is not there. */
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
   * A job that is absent, expired or failed long enough ago waits from now on; one id is one job, however many submit it
   * at once. Puts it into the collection unless the answer is that it is full. Counts as an access. A job that waits for a
   * tenant who has more waiting than this one waits for this one from now on.
   */
  submit(
    request: ReportRequest,
    link: ReportLink | undefined,
    rules: SubmitRules,
    signal: AbortSignal,
  ): Promise<Submission>;
  /** Only of an expired job. */
  requeue(id: ReportJobId, rules: Omit<SubmitRules, 'failedBefore'>, signal: AbortSignal): Promise<Requeued>;
  /** Counts as an access. */
  read(
    id: ReportJobId,
    reader: ReportReader | undefined,
    now: Date,
    signal: AbortSignal,
  ): Promise<ReportAccess | undefined>;
  /** Of a complete job, in the order in which they were given; none of any other. In bounded memory. */
  files(id: ReportJobId, signal: AbortSignal): AsyncIterable<ReportFile>;
  /** The file of a complete job that has exactly this name. */
  file(id: ReportJobId, name: string, signal: AbortSignal): Promise<ReportFile | undefined>;
  /** What the formatter said, and why it failed in the last line; of a complete or failed job. */
  stderr(id: ReportJobId, signal: AbortSignal): Promise<string | undefined>;
  /** Of those that there are; no access. */
  statuses(ids: readonly ReportJobId[], signal: AbortSignal): Promise<ReadonlyMap<ReportJobId, ReportStatus>>;
  /** Jobs that failed, in the order of ids. In bounded memory. */
  failed(signal: AbortSignal): AsyncIterable<FailedReport>;
}
