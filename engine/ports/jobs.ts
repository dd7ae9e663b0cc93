// The job table: the engine's memory. At most one row per (lane, dataset); events coalesce into it.
//
// Row states, and what moves between them:
//   queued   --claim-->            running   (with the dataset's lease)
//   running  --done-->             gone, or queued when an event came meanwhile (`again`)
//   running  --retry-->            delayed until its time, then claimable like queued
//   running  --requeue-->          queued (shutdown, lost lease, thread died: then `alone`)
//   running  --dead-->             dead: kept for an administrator
//   running, holder dead           queued (found by the next claim of any process)
//   dead, delayed --enqueue-->     dead: `again` is noted only; delayed: stays delayed
//   dead, delayed --retry by admin--> queued

import type { EventSource, LaneName } from '../model/event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { Lease } from './leases.ts';

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
  readonly tries: number;
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
  | { readonly kind: 'done' }
  /** Retry in `delayMs`; `countTry` is false when a dependency could not be reached at all. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly message: string; readonly countTry: boolean }
  /** Back to the queue at once. `crashed` marks the job to run alone, and counts as a crash when it already did. */
  | { readonly kind: 'requeue'; readonly crashed: boolean }
  | { readonly kind: 'dead'; readonly failure: 'rejected' | 'transient' | 'defect'; readonly message: string };

/** After so many thread deaths while running alone, a job is dead (docs/design/decisions.md#from-a-change-to-a-job). */
export const CRASHES_ALONE = 3;

export interface JobCompletion {
  readonly job: ClaimedJob;
  readonly outcome: JobOutcome;
}

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
  readonly awayTypes?: readonly string[];
  /** Owners that hold their share of the lane: their jobs are not claimed; default none. Other owners then take turns. */
  readonly withheldOwners?: readonly UserId[];
  /** Owners whose jobs are claimed only when no others wait; default none. */
  readonly crowdedOwners?: readonly UserId[];
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
   * because its target or its plugin is unreachable does not block others.
   * Completions whose lease was lost are ignored. Of concurrent calls, no job is given to two.
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
