// What a lane tells about itself, label `lane`.

import type { Metrics } from './metrics.ts';

export interface LaneSizes {
  /** Claimed jobs that wait in the mailbox. */
  readonly depth: number;
  readonly capacity: number;
  readonly inFlight: number;
  readonly workers: number;
  /** Results that are not written yet. */
  readonly unwritten: number;
}

export interface LaneMetrics {
  started(waitedMs: number): void;
  finished(outcome: string, ranMs: number): void;
  exchanged(result: 'ok' | 'failed', claimed: number): void;
  show(sizes: LaneSizes): void;
}

export function laneMetrics(metrics: Metrics, lane: string): LaneMetrics {
  const depth = metrics.gauge('lane_depth', 'Claimed jobs waiting in the mailbox.', ['lane']);
  const capacity = metrics.gauge('lane_capacity', 'Places in the mailbox.', ['lane']);
  const inFlight = metrics.gauge('lane_in_flight', 'Jobs being worked on.', ['lane']);
  const workers = metrics.gauge('lane_workers', 'Jobs that may be worked on at once.', ['lane']);
  const unwritten = metrics.gauge('lane_unwritten', 'Results waiting to be written.', ['lane']);
  const wait = metrics.histogram('lane_wait_seconds', 'Time from claimable to start.', ['lane']);
  const run = metrics.histogram('lane_run_seconds', 'Time a job was worked on.', ['lane']);
  const jobs = metrics.counter('lane_jobs_total', 'Jobs by what became of them.', ['lane', 'outcome']);
  const claims = metrics.counter('lane_claimed_total', 'Jobs claimed.', ['lane']);
  const exchanges = metrics.counter('lane_exchanges_total', 'Round trips to the job source.', ['lane', 'result']);
  return {
    started: (waitedMs) => wait.observe({ lane }, waitedMs / 1000),
    finished(outcome, ranMs) {
      run.observe({ lane }, ranMs / 1000);
      jobs.inc({ lane, outcome });
    },
    exchanged(result, claimed) {
      exchanges.inc({ lane, result });
      if (claimed > 0) claims.inc({ lane }, claimed);
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
