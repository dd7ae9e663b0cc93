// The options of a lane: its source, which also receives the outcomes, how many jobs it runs, and what it does with each.

import type { ActorOptions } from '../runtime/actor.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { LaneOutcome } from './lane-metrics.ts';

export interface Completion<Job, Outcome> {
  readonly job: Job;
  readonly outcome: Outcome;
}

export interface LaneSource<Job, Outcome> {
  /** Writes the outcomes and claims up to `limit` jobs (0: none) in one step, all or nothing. One call at a time. */
  completeAndFetch(
    done: readonly Completion<Job, Outcome>[],
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Job[]>;
  /** Calls `wake` when there may be jobs to claim; the returned function unsubscribes. */
  watch(wake: () => void): () => void;
  /** True when the last claim skipped jobs that may be claimed once a job here has ended; default false. */
  heldBack?(): boolean;
}

export interface LaneBounds {
  /** Most jobs that may wait in memory. */
  readonly queueSize: number;
  /** Most jobs that run at once. */
  readonly workerCount: number;
}

export interface LaneOptions<Job, Outcome extends LaneOutcome> extends ActorOptions, LaneBounds {
  /** Interval of claims without a wake-up, in case one was lost. */
  readonly pollMs: number;
  /** Longest delay of an outcome while the mailbox is more than half full, to collect outcomes of other jobs; default 25 ms. */
  readonly flushMs?: number;
  readonly source: LaneSource<Job, Outcome>;
  readonly run: (job: Job, signal: AbortSignal) => Promise<Outcome>;
  readonly settle: (error: unknown, job: Job) => Outcome;
  readonly abandon: (job: Job) => Outcome;
  readonly idOf: (job: Job) => number | string;
  /** The tenant whose fair share the job counts against (fair-share.ts). Default: jobs start in order of arrival. */
  readonly tenantOf?: (job: Job) => string;
  /** How long the job had been claimable when it was claimed; default 0. */
  readonly waitedMs?: (job: Job) => number;
  readonly metrics: Metrics;
}
