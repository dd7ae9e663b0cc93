// The options of a lane: its source, which also receives the outcomes, how many jobs it runs, and what it does with each.

import type { ActorOptions } from '../runtime/actor.ts';
import type { FailureKind } from '../runtime/failure.ts';
import type { Metrics } from '../runtime/metrics.ts';

export interface Completion<Job, Outcome> {
  readonly job: Job;
  readonly outcome: Outcome;
}

export interface LaneSource<Job, Outcome> {
  /**
   * Writes the outcomes and claims up to `limit` jobs (0: none) in one step, all or nothing. One call at a time. If it returns
   * as many as it could and there may be more, it wakes the lane.
   */
  completeAndFetch(
    done: readonly Completion<Job, Outcome>[],
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Job[]>;
  /** Calls `wake` when there may be jobs to claim; the returned function unsubscribes. */
  watch(wake: () => void): () => void;
  /** True when the last claim skipped jobs that may be claimed once a job here has ended; default false. */
  heldBack?(): boolean;
  /** True when another claim is not worth a call before a worker is idle; default false. */
  waitsForWorker?(): boolean;
  /** True when the last claim skipped due jobs on purpose, such as those of a plugin that does not answer; default false. */
  skips?(): boolean;
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
  /** False for a job that the source returns only so that it is given back; default true. */
  readonly accepts?: (job: Job) => boolean;
  readonly idOf: (job: Job) => number | string;
  /** The tenant whose fair share the job counts against (fair-share.ts). Default: jobs start in order of arrival. */
  readonly tenantOf?: (job: Job) => string;
  /** How long the job had been claimable when it was claimed; default 0. */
  readonly waitedMs?: (job: Job) => number;
  readonly metrics: Metrics;
}

// The metrics of a lane, with the label `lane`.

export interface LaneSizes {
  /** Claimed jobs that wait in the mailbox. */
  readonly depth: number;
  readonly capacity: number;
  readonly inFlight: number;
  readonly workers: number;
  /** Results that are not written yet. */
  readonly unwritten: number;
}

/** The parts of an outcome that are counted. */
export interface LaneOutcome {
  readonly kind: string;
  /** For a job that will be retried: whether this attempt counts. */
  readonly countsAttempt?: boolean;
  /** For a job that is given up: the kind of its failure. */
  readonly failure?: GivenUp;
}

type GivenUp = Exclude<FailureKind, 'aborted'>;

export interface LaneMetrics {
  started(waitedMs: number): void;
  /** A job was claimed that was due for this long while a worker was free. */
  idled(ms: number): void;
  /** `ranMs` is absent when the job was not started. */
  finished(outcome: LaneOutcome, ranMs: number | undefined): void;
  fetched(result: 'ok' | 'failed'): void;
  claimed(jobs: number): void;
  show(sizes: LaneSizes): void;
}

const CAUSES = ['failed', 'waiting'] as const;
const GIVEN_UP: readonly GivenUp[] = ['rejected', 'transient', 'defect'];

export function laneMetrics(metrics: Metrics, lane: string): LaneMetrics {
  const depth = metrics.gauge('lane_depth', 'Claimed jobs waiting in the mailbox.', ['lane']);
  const capacity = metrics.gauge('lane_capacity', 'Places in the mailbox.', ['lane']);
  const inFlight = metrics.gauge('lane_in_flight', 'Jobs being worked on.', ['lane']);
  const workers = metrics.gauge('lane_workers', 'Jobs that may be worked on at once.', ['lane']);
  const unwritten = metrics.gauge('lane_unwritten', 'Results waiting to be written.', ['lane']);
  const wait = metrics.histogram('lane_wait_seconds', 'Time from claimable to start.', ['lane']);
  const idle = metrics.histogram('lane_idle_wait_seconds', 'Time a job was due although a worker was free.', ['lane']);
  const run = metrics.histogram('lane_run_seconds', 'Time a job was worked on.', ['lane']);
  const jobs = metrics.counter('lane_jobs_total', 'Ends of jobs by outcome.', ['lane', 'outcome']);
  const claims = metrics.counter('lane_claimed_total', 'Jobs claimed.', ['lane']);
  const fetches = metrics.counter('lane_fetches_total', 'Round trips to the job source.', ['lane', 'result']);
  const retries = metrics.counter('lane_retries_total', 'Retries; failed uses up an attempt, waiting does not.', [
    'lane',
    'cause',
  ]);
  const dead = metrics.counter('lane_dead_total', 'Jobs that failed permanently, by kind of failure.', [
    'lane',
    'failure',
  ]);
  // The counters start at zero, so that the first event shows as an increase.
  for (const cause of CAUSES) retries.inc({ lane, cause }, 0);
  for (const failure of GIVEN_UP) dead.inc({ lane, failure }, 0);
  jobs.inc({ lane, outcome: 'failed' }, 0);
  return {
    started(waitedMs) {
      wait.observe({ lane }, waitedMs / 1000);
    },
    idled(ms) {
      idle.observe({ lane }, ms / 1000);
    },
    finished(outcome, ranMs) {
      const { kind, countsAttempt, failure } = outcome;
      if (ranMs !== undefined) run.observe({ lane }, ranMs / 1000);
      jobs.inc({ lane, outcome: kind });
      if (countsAttempt !== undefined) retries.inc({ lane, cause: countsAttempt ? 'failed' : 'waiting' });
      if (failure !== undefined) dead.inc({ lane, failure });
    },
    fetched(result) {
      fetches.inc({ lane, result });
    },
    claimed(jobs) {
      if (jobs > 0) claims.inc({ lane }, jobs);
    },
    show(sizes) {
      depth.set({ lane }, sizes.depth);
      capacity.set({ lane }, sizes.capacity);
      inFlight.set({ lane }, sizes.inFlight);
      workers.set({ lane }, sizes.workers);
      unwritten.set({ lane }, sizes.unwritten);
    },
  };
}
