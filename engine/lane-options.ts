// What a lane is told: where its jobs come from and their outcomes go, how many it works on, what it does with each.

import type { LaneOutcome } from './lane-metrics.ts';
import type { LifecycleOptions } from './lifecycle.ts';
import type { Metrics } from './metrics.ts';

export interface Completion<Job, Outcome> {
  readonly job: Job;
  readonly outcome: Outcome;
}

export interface LaneSource<Job, Outcome> {
  /** Writes the outcomes and claims up to `limit` jobs (0: none) in one step; all or nothing. Two may be under way at once. */
  exchange(done: readonly Completion<Job, Outcome>[], limit: number, signal: AbortSignal): Promise<readonly Job[]>;
  /** Calls `wake` when there may be jobs to claim; the result stops that. */
  watch(wake: () => void): () => void;
  /** True when the last claim left jobs alone that may be claimed once one of those here has ended; default false. */
  heldBack?(): boolean;
}

export interface LaneBounds {
  /** Jobs that may wait in memory. */
  readonly queueSize: number;
  /** Jobs worked on at once. */
  readonly workerCount: number;
}

export interface LaneOptions<Job, Outcome extends LaneOutcome> extends LifecycleOptions, LaneBounds {
  /** Claims without having been woken, in case a wake was lost. */
  readonly pollMs: number;
  /** Longest wait of an outcome while the mailbox is more than half full: what ends meanwhile goes with it; default 25 ms. */
  readonly flushMs?: number;
  /**
   * Free places from which on another exchange is sent before the one under way has come back, where that may fill its own;
   * default half the mailbox, at least 16: so that exchanges are few and carry many.
   */
  readonly anotherAt?: number;
  readonly source: LaneSource<Job, Outcome>;
  readonly run: (job: Job, signal: AbortSignal) => Promise<Outcome>;
  readonly settle: (error: unknown, job: Job) => Outcome;
  readonly abandon: (job: Job) => Outcome;
  readonly idOf: (job: Job) => number | string;
  /** Whose fair share the job counts against (fair-share.ts); default: all jobs begin in the order in which they came. */
  readonly tenantOf?: (job: Job) => string;
  /** How long the job had been claimable when it was claimed; default 0. */
  readonly waitedMs?: (job: Job) => number;
  readonly metrics: Metrics;
}
