// The job table: the engine's memory. At most one row per (lane, dataset); events coalesce into it.
//
// Row states, and what moves between them:
//   queued   --claim-->            running   (with the dataset's lease)
//   running  --done-->             gone, or queued when an event came meanwhile (`again`)
//   running  --retry-->            delayed until its time, then claimable like queued
//   running  --requeue-->          queued (shutdown, lost lease, thread died: then `alone`)
//   running  --dead-->             dead: kept for an administrator
//   running, holder dead           queued (seen by the next claim of anybody)
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
  /** Tries that failed before this one; 0 at first. */
  readonly tries: number;
  /** Threads that died under this job while it ran alone. */
  readonly crashes: number;
  /** Run without company in its thread: its last thread died. */
  readonly alone: boolean;
  /** `name:version` of the dataset's type, when the catalog knows it; for fairness and breakers. */
  readonly type: string | undefined;
  /**
   * Of the last request that changed the dataset, also when something else brought about the job; absent when none is known.
   */
  readonly traceparent?: Traceparent;
  /** The lease of the dataset, ours until the job's completion is written. */
  readonly lease: Lease;
  /** Milliseconds since the job became claimable. */
  readonly waitedMs: number;
}

export type JobOutcome =
  | { readonly kind: 'done' }
  /** Try again in `delayMs`; `countTry` false when a dependency was not reached at all. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly message: string; readonly countTry: boolean }
  /** Back to the queue at once. `crashed` marks it to run alone, and counts when it already did. */
  | { readonly kind: 'requeue'; readonly crashed: boolean }
  | { readonly kind: 'dead'; readonly failure: 'rejected' | 'transient' | 'defect'; readonly message: string };

/**
 * Deaths of a job's thread while the job was alone in it that make it dead (docs/design/decisions.md#from-a-change-to-a-job).
 */
export const CRASHES_ALONE = 3;

export interface JobCompletion {
  readonly job: ClaimedJob;
  readonly outcome: JobOutcome;
}

export interface ClaimRequest {
  readonly lane: LaneName;
  /** 0 = complete only. */
  readonly limit: number;
  /** Types whose jobs are claimed only when no others wait (they hold their share of the lane). */
  readonly crowdedTypes: readonly string[];
  /** Types whose jobs are not claimed at all (breaker open, or the lane is full of them). */
  readonly blockedTypes: readonly string[];
  /** Types whose plugin is away: their queued install, updateMeta and sharing jobs hold back no other job; default none. */
  readonly awayTypes?: readonly string[];
  /** Owners whose jobs are not claimed (they hold their share of the lane); default none. Others then take turns. */
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
  /** Milliseconds the oldest claimable job has waited; 0 when none waits. */
  readonly oldestMs: number;
}

export interface Jobs {
  /** Upserts; wakes the lanes concerned. Durable when it resolves. */
  enqueue(requests: readonly JobRequest[], signal: AbortSignal): Promise<void>;
  /**
   * Writes completions (releasing their leases) and claims up to `limit` jobs with their leases, in one statement. A
   * job is claimable when it is due, no lower-ranked job of its dataset waits (one delayed by a target that is away holds
   * back nobody, nor one whose plugin is away), and the dataset's lease is free.
   * Completions whose lease was lost are ignored. A lane may have two under way: no job is given to both.
   */
  exchange(done: readonly JobCompletion[], claim: ClaimRequest, signal: AbortSignal): Promise<readonly ClaimedJob[]>;
  /** Calls `wake` when the lane may have claimable work. The returned function stops that. */
  watch(lane: LaneName, wake: () => void): () => void;
  /** Those of the datasets that wait to be deleted or superseded: a job of the softDelete lane is queued. In no order. */
  overtaken(datasets: readonly DatasetId[], signal: AbortSignal): Promise<readonly DatasetId[]>;
  /** One entry per lane, zeros included. */
  depths(signal: AbortSignal): Promise<readonly LaneDepth[]>;
}
