// Report jobs: as callers see them, as the lane runs them, as the sweep cleans up after them, and as users collect them. The
// caller passes the times. Ids are those of model/report-job.ts and already checked.
//
//   queued       --exchange claims-->  in-progress   with a lease: 30 s, or until its process dies
//   in-progress  --complete, failed--> ended
//   in-progress  --again-->            queued, claimable from the given time
//   in-progress, lease expired --> queued        by the next exchange of any process

import type { Tenant } from '../model/ids.ts';
import type { Molecule, QueryJob, QueryJobId } from '../model/report/query-job.ts';
import type {
  Collector,
  ReportFile,
  ReportJobId,
  ReportRequest,
  ReportStatus,
  UserMeta,
  UserMetaChange,
} from '../model/report/report-job.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { ObjectDigest } from './catalog.ts';

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

export interface StoredReportFile extends ReportFile {
  /** Absent = not known, as of files that were stored before it was kept. */
  readonly digest?: ObjectDigest;
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
  file(id: ReportJobId, name: string, signal: AbortSignal): Promise<StoredReportFile | undefined>;
  /** The formatter's stderr; its last line says why it failed. Of a complete or failed job. */
  stderr(id: ReportJobId, signal: AbortSignal): Promise<string | undefined>;
  /** Statuses of the jobs that exist. Does not count as an access. */
  statuses(ids: readonly ReportJobId[], signal: AbortSignal): Promise<ReadonlyMap<ReportJobId, ReportStatus>>;
  /** Failed jobs, in order of ids. In bounded memory. */
  failed(signal: AbortSignal): AsyncIterable<FailedReport>;
}

export interface ReportClaim extends ReportRequest {
  /** Only grows. This attempt, and no other, may write under this number. */
  readonly attempt: number;
  /** Attempts that failed since the job was queued; 0 at first. */
  readonly attempts: number;
  /** How long the job was claimable before it was claimed, in ms. */
  readonly waitedMs: number;
  /** Of the request that queued it; absent for jobs queued by programs without tracing. */
  readonly traceparent?: Traceparent;
  /** The tenant whose share it counts against. */
  readonly tenant: Tenant;
}

export type ReportOutcome =
  | {
      readonly kind: 'complete';
      readonly ended: Date;
      readonly files: readonly StoredReportFile[];
      readonly stderr: string;
    }
  /** `reason` says why; it is the last line of `stderr`. */
  | { readonly kind: 'failed'; readonly ended: Date; readonly reason: string; readonly stderr: string }
  /** Back to the queue: interrupted, or something that the attempt needs is unavailable. */
  | { readonly kind: 'again'; readonly from: Date; readonly countsAttempt: boolean };

export interface ReportCompletion {
  readonly claim: Pick<ReportClaim, 'id' | 'attempt'>;
  readonly outcome: ReportOutcome;
}

export interface ReportDebris {
  readonly id: ReportJobId;
  /** Objects of this attempt and of earlier ones are no longer used. */
  readonly upTo: number;
}

export interface ReportClaimRequest {
  /** 0 = complete only. */
  readonly limit: number;
  /** Tenants whose jobs are not claimed; default none. */
  readonly withheld?: readonly Tenant[];
}

export interface ReportQueue {
  /**
   * Writes outcomes and claims up to `limit` jobs, none of a withheld tenant; all or nothing. Tenants take turns: the one with
   * the fewest running jobs comes first. Within a tenant, and between tenants with equally many, the jobs that have waited
   * longest come first. An outcome whose lease has expired is ignored.
   */
  completeAndFetch(
    done: readonly ReportCompletion[],
    claim: ReportClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly ReportClaim[]>;
  /** Extends the leases; returns those that have expired. Call every 10 s. */
  renew(
    claims: readonly Pick<ReportClaim, 'id' | 'attempt'>[],
    signal: AbortSignal,
  ): Promise<readonly Pick<ReportClaim, 'id' | 'attempt'>[]>;
  /** Calls `wake` when there may be jobs to claim. The returned function unsubscribes. */
  watch(wake: () => void): () => void;
}

export interface ReportExpiry {
  /** Expires at most `limit` completed and failed jobs that nobody has accessed since that time; returns how many. */
  expire(before: Date, limit: number, signal: AbortSignal): Promise<number>;
  /**
   * Expires one job, whenever it was accessed. `running`: it has not ended and is unchanged. A job already expired is
   * `expired`.
   */
  expireOne(id: ReportJobId, signal: AbortSignal): Promise<'expired' | 'running' | 'absent'>;
  /** What ended attempts have left in the object store: at most `limit` jobs with ids after `after`, in order of ids. */
  debris(after: ReportJobId | undefined, limit: number, signal: AbortSignal): Promise<readonly ReportDebris[]>;
  /** Call this after the objects were removed. */
  removed(debris: ReportDebris, signal: AbortSignal): Promise<void>;
}

/** A report job that a user keeps, with the user's notes about it. */
export interface CollectedReport {
  readonly id: ReportJobId;
  readonly queryId: QueryJobId;
  readonly status: ReportStatus;
  readonly meta: UserMeta;
}

export interface ReportCollections {
  /**
   * Jobs of one user, the newest link first; `queryId` selects those of one query. In bounded memory, without a query per job.
   */
  list(
    user: Collector,
    filter: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncIterable<CollectedReport>;
  /** False when the job is not in the user's collection. */
  annotate(user: Collector, id: ReportJobId, change: UserMetaChange, signal: AbortSignal): Promise<boolean>;
  /** Removes it from the collection; the job stays. False when it is not there. */
  remove(user: Collector, id: ReportJobId, signal: AbortSignal): Promise<boolean>;
  /**
   * Moves a whole collection into another one, as its newest jobs; the first one is empty afterwards. For a job in both, the
   * new owner's notes are kept.
   */
  handOver(from: Collector, to: Collector, signal: AbortSignal): Promise<void>;
}

// What reports are made from: earlier queries with their results, and the databases that they searched.

export interface QueryJobs {
  /**
   * Undefined when there is no such job.
   * @throws Failure `defect` for a job whose description cannot be read, `transient` when the storage cannot be reached
   */
  find(id: QueryJobId, signal: AbortSignal): Promise<QueryJob | undefined>;
  /**
   * Places the job's result, a BLAST archive, at `file`, read-only; `file` must not exist. The file stays complete when the job
   * is removed. False when the job or its result does not exist.
   */
  putArchive(id: QueryJobId, file: string, signal: AbortSignal): Promise<boolean>;
  /** Resolves when jobs can be found; otherwise fails as `transient`. */
  probe(signal: AbortSignal): Promise<void>;
}

export interface BlastDatabases {
  /**
   * Distinguishes databases with the same names: 64 hexadecimal digits that change whenever a database is rebuilt. Results
   * refer to sequences by their position in the database, so they can be read only with the same one.
   * @param names at least one, in the form that BLAST takes: absolute, or looked up in the configured directories
   * @throws Failure `rejected` that names the database that is missing or cannot be read
   */
  fingerprint(names: readonly string[], molecule: Molecule, signal: AbortSignal): Promise<string>;
}
