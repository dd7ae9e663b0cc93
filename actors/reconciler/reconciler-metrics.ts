// The reconciler's metrics.

import type { Metrics } from '../../engine/runtime/metrics.ts';

const RESULTS = ['listed', 'malformed', 'reconciled', 'absent', 'deleted', 'spared'] as const;

export interface ReconcilerCounter {
  count(result: (typeof RESULTS)[number], datasets: number): void;
  /** Whether the last full run was braked. */
  braked(braked: boolean): void;
}

export function reconcilerMetrics(metrics: Metrics): ReconcilerCounter {
  const datasets = metrics.counter('reconciler_datasets_total', 'Datasets seen by reconciler runs, by result.', [
    'result',
  ]);
  const braked = metrics.gauge('reconciler_braked', '1 if the last full run refused to delete absent datasets.');
  // Start at zero so that the first increment is visible as an increase.
  for (const result of RESULTS) datasets.inc({ result }, 0);
  return {
    count: (result, number) => datasets.inc({ result }, number),
    braked: (is) => braked.set({}, is ? 1 : 0),
  };
}
