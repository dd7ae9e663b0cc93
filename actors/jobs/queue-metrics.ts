// Metrics of the job table: how many jobs wait, and for how long. We read the table every 10 s instead of at each scrape, so
// frequent scrapes cost the database nothing.

import { DATASET_STATUSES, type DatasetReports } from '../../engine/ports/dataset-queries.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { Child } from '../../engine/runtime/actor.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';

interface QueueMetricsOptions extends TimerParts {
  readonly jobs: Jobs;
}

const PERIOD_MS = 10_000;
const STATES = ['queued', 'running', 'delayed', 'dead'] as const;

export function queueMetrics({ jobs, ...parts }: QueueMetricsOptions): Child {
  const depth = parts.metrics.gauge('jobs', 'Rows of the job table by state.', ['lane', 'state']);
  const oldest = parts.metrics.gauge(
    'jobs_oldest_seconds',
    'Seconds that the oldest due job has waited; 0 if none is due.',
    ['lane'],
  );
  return new Timer<void>({
    ...parts,
    name: 'queueMetrics',
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

// Counts datasets by status in the cache database, once a minute instead of at each scrape. The query reads every dataset's
// row, which takes about a second for a million datasets.

interface DatasetMetricsOptions extends TimerParts {
  readonly reports: Pick<DatasetReports, 'statuses'>;
}

const DATASETS_PERIOD_MS = 60_000;

export function datasetMetrics({ reports, ...parts }: DatasetMetricsOptions): Child {
  const gauge = parts.metrics.gauge('datasets', 'Datasets by status.', ['status']);
  return new Timer<void>({
    ...parts,
    name: 'datasetMetrics',
    periodMs: DATASETS_PERIOD_MS,
    firstMs: 0,
    runOnce: async (signal) => {
      const counts = await reports.statuses(signal);
      for (const status of DATASET_STATUSES) gauge.set({ status }, counts.get(status) ?? 0);
    },
  });
}
