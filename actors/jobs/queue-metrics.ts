// Metrics of the job table: how many jobs wait, and for how long. We read the table every 10 s instead of at each scrape, so
// frequent scrapes cost the database nothing.

import type { Jobs } from '../../engine/ports/jobs.ts';
import type { Child } from '../../engine/runtime/child.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Random } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';

export interface QueueMetricsOptions {
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

const PERIOD_MS = 10_000;
const STATES = ['queued', 'running', 'delayed', 'dead'] as const;

export function queueMetrics({ jobs, clock, log, metrics, random }: QueueMetricsOptions): Child {
  const depth = metrics.gauge('jobs', 'Rows of the job table by state.', ['lane', 'state']);
  const oldest = metrics.gauge('jobs_oldest_seconds', 'Seconds that the oldest due job has waited; 0 if none is due.', [
    'lane',
  ]);
  return new Timer<void>({
    name: 'queueMetrics',
    clock,
    log,
    metrics,
    random,
    periodMs: PERIOD_MS,
    firstMs: 0,
    runOnce: async (signal) => {
      for (const { lane, oldestMs, ...counts } of await jobs.depths(signal)) {
        for (const state of STATES) depth.set({ lane, state }, counts[state]);
        oldest.set({ lane }, oldestMs / 1000);
      }
    },
  });
}
