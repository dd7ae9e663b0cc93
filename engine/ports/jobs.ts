// The job table: the engine's memory. At most one row per (lane, dataset); events coalesce into it.
//
// Row states, and what moves between them:
//   queued   --claim-->            running   (with the dataset's lease)
//   running  --done, failed,-->    gone, or queued when an event came meanwhile (`again`)
//              invalid
//   running  --retry-->            delayed until its time, then claimable like queued
//   running  --requeue-->          queued (shutdown, lost lease, thread died: then `alone`)
//   running  --dead-->             dead: kept for an administrator
//   running, holder dead           queued (found by the next claim of any process)
//   dead, delayed --enqueue-->     dead: `again` is noted only; delayed: stays delayed
//   dead, delayed --retry by admin--> queued

import type { EventSource, LaneName } from '../model/event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';
import type { ScriptEvidence } from '../model/script-evidence.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { AttemptRecord } from './job-history.ts';

export interface JobRequest {
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  readonly eventId: number;
  readonly source: EventSource;
}

export interface ClaimedJob extends JobRequest {
  readonly id: number;
  /** Attempts that failed before this one; 0 at first. */
  readonly attempts: number;
  /** How often a thread died under this job while the job ran alone. */
  readonly crashes: number;
  /** Must run alone in its thread, because the last thread that ran it died. */
  readonly alone: boolean;
  /** `name:version` of the dataset's type, when the catalog knows it; for fairness and breakers. */
  readonly type: string | undefined;
  /** Of the last request that changed the dataset, even when something else caused the job; absent when none is known. */
  readonly traceparent?: Traceparent;
  /** The lease of the dataset, ours until the job's completion is written. */
  readonly lease: Lease;
  /** Milliseconds since the job became claimable. */
  readonly waitedMs: number;
}

export type JobOutcome =
  /** `did`: what the job did, for the history. Absent when there was nothing to do, or when its plugin calls show it. */
  | { readonly kind: 'done'; readonly did?: string }
  | JobFault
  /**
   * Retry in `delayMs`; `countsAttempt` is false when a dependency could not be reached at all. `idle`: nothing was tried, so the
   * history has no row.
   */
  | (Explained & {
      readonly kind: 'retry';
      readonly delayMs: number;
      readonly countsAttempt: boolean;
      readonly idle?: boolean;
    })
  /** Back to the queue at once. `crashed` marks the job to run alone, and counts as a crash when it already did. */
  | { readonly kind: 'requeue'; readonly crashed: boolean }
  | (Explained & { readonly kind: 'dead'; readonly failure: 'rejected' | 'transient' | 'defect' });

/**
 * The job ended without success, and the dataset's status says so. It is not retried by itself: for the table it is `done`.
 *   failed   the plugin or the configuration is at fault
 *   invalid  the user's data are at fault
 */
export type JobFault = Explained & { readonly kind: 'failed' | 'invalid' };

/** For operators, in full. Owners read the dataset's status. */
interface Explained extends ScriptEvidence {
  readonly message: string;
}

/** After so many thread deaths while running alone, a job is dead (docs/design/decisions.md#from-a-change-to-a-job). */
export const CRASHES_ALONE = 3;

/** An outcome with its entry in the history. */
export type RecordedOutcome = JobOutcome & {
  /** Absent when the job did nothing, or was given back before it started. */
  readonly record?: AttemptRecord;
};

export interface JobCompletion {
  readonly job: ClaimedJob;
  readonly outcome: RecordedOutcome;
  /** If the dataset's next job fits into that place, it is claimed with the completion. */
  readonly next?: NextPlace;
}

/** A place in another lane of this process, for a job of the same owner and type. */
export interface NextPlace {
  readonly lane: LaneName;
  /** Owner or type hold their share of the lane: only when no other job of it is due. */
  readonly last: boolean;
}

/** The oldest jobs come first. If some types or owners are treated differently, that is promised only within a type. */
export interface ClaimRequest {
  readonly lane: LaneName;
  /** 0 = complete only. */
  readonly limit: number;
  /** Types that already hold their share of the lane: their jobs are claimed only when no others wait. */
  readonly crowdedTypes: readonly string[];
  /** Types whose jobs are not claimed at all (breaker open, or they fill the lane). */
  readonly blockedTypes: readonly string[];
  /**
   * Types whose plugin is unreachable: their queued install, updateMeta and sharing jobs do not block other jobs; default none.
   */
  readonly unreachableTypes?: readonly string[];
  /** Owners that hold their share of the lane: their jobs are not claimed; default none. Other owners then take turns. */
  readonly withheldOwners?: readonly UserId[];
  /** Owners whose jobs are claimed only when no others wait; default none. */
  readonly crowdedOwners?: readonly UserId[];
  /** Default: no bound. */
  readonly ownerShare?: OwnerShare;
}

/** Keeps a claim of any size from giving an owner more jobs than its share of the lane. */
export interface OwnerShare {
  /** Most jobs that an owner may hold. Those of crowded types count by themselves. */
  readonly most: number;
  /** How many the owners hold now; who is absent holds none. */
  readonly held: Readonly<Partial<Record<UserId, number>>>;
}

export interface LaneDepth {
  readonly lane: LaneName;
  readonly queued: number;
  readonly running: number;
  readonly delayed: number;
  readonly dead: number;
  /** How long the oldest claimable job has waited, in ms; 0 when none waits. */
  readonly oldestMs: number;
}

export interface Jobs {
  /** Upserts, and wakes the lanes concerned. Durable when it resolves. */
  enqueue(requests: readonly JobRequest[], signal: AbortSignal): Promise<void>;
  /**
   * Writes completions (releasing their leases) and claims up to `limit` jobs with their leases, in one statement. A job is
   * claimable when it is due, the dataset's lease is free, and no lower-ranked job of its dataset waits. A job that is delayed
   * because its target or its plugin is unreachable does not block others. Jobs of other lanes that completions hand over
   * (`next`) come besides those of the claim.
   * Completions whose lease was lost are ignored. A completion and its record (job-history.ts) are written together. Of
   * concurrent calls, no job is given to two. If it claims as many as it may and there may be more, it wakes the lane.
   */
  completeAndFetch(
    done: readonly JobCompletion[],
    claim: ClaimRequest,
    signal: AbortSignal,
  ): Promise<readonly ClaimedJob[]>;
  /** Calls `wake` when the lane may have claimable work. The returned function unsubscribes. */
  watch(lane: LaneName, wake: () => void): () => void;
  /** The given datasets that wait to be deleted or superseded: they have a queued job in the softDelete lane. In no order. */
  overtaken(datasets: readonly DatasetId[], signal: AbortSignal): Promise<readonly DatasetId[]>;
  /** One entry per lane, zeros included. */
  depths(signal: AbortSignal): Promise<readonly LaneDepth[]>;
}

/** States of a job row; the transitions are at the top. */
export const JOB_STATES = ['queued', 'running', 'delayed', 'dead'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobEntry {
  readonly id: number;
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  readonly state: JobState;
  /** Attempts that failed so far. */
  readonly attempts: number;
  /** The newest event that requested the job. */
  readonly eventId: number;
  /** Why the last attempt failed; undefined when none did. */
  readonly message: string | undefined;
  /** The earliest time at which the job may run, or could have run; undefined when it is dead. */
  readonly runAt: Date | undefined;
  readonly created: Date;
}

/** Absent fields do not filter. */
export interface JobFilter {
  readonly lane?: LaneName;
  readonly state?: JobState;
}

export interface JobPage {
  readonly limit: number;
  readonly offset: number;
}

export interface JobList {
  readonly jobs: readonly JobEntry[];
  /** Jobs that match the filter, on all pages. */
  readonly total: number;
}

/** `running`: nothing was changed. */
export type RetryResult = 'queued' | 'not-found' | 'running';

/** The job table as an administrator sees it: which jobs wait, run, are delayed or dead, and how to retry them. */
export interface JobAdmin {
  /** In order of creation. */
  list(filter: JobFilter, page: JobPage, signal: AbortSignal): Promise<JobList>;
  /** The dataset of a job; undefined when there is no such job. */
  dataset(id: number, signal: AbortSignal): Promise<DatasetId | undefined>;
  /**
   * Puts a delayed or dead job back into its lane's queue with all its attempts available, and wakes the lane. Also resets, in
   * the same step, what would leave the lane nothing to do: a failed import or upload status of the dataset for the lane of
   * that name; waiting attempts on install targets for install (data) and updateMeta (meta). A job that is already queued is
   * unchanged.
   */
  retry(id: number, signal: AbortSignal): Promise<RetryResult>;
  /**
   * Like {@link retry} for the dataset's job in the lane if it is dead, because an event is only noted on a dead job. False
   * when there is no such job, or it is not dead.
   */
  revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
}

/**
 * The right to work on a dataset or to run a daemon, with a fencing token (docs/design/decisions.md#from-a-change-to-a-job).
 * Held until released, expired (30 s without renewal), or its holder process died. Tokens of one name only grow: by one from
 * lease to lease, and above all earlier ones when the cache DB was lost and rebuilt.
 */
export interface Lease {
  /** A dataset id, or `daemon:{name}`. */
  readonly name: string;
  readonly token: number;
}

export interface Leases {
  /** The lease, or undefined while another process (or this one) holds it. */
  acquire(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** Extends all leases; returns those that we no longer hold. Call every 10 s. */
  renew(leases: readonly Lease[], signal: AbortSignal): Promise<readonly Lease[]>;
  release(lease: Lease, signal: AbortSignal): Promise<void>;
}
