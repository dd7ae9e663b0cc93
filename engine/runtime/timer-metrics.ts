// The metrics of a daemon, with the label `daemon`.

import type { Gauge, Metrics } from './metrics.ts';

const RESULTS = ['done', 'failed', 'aborted'] as const;
export type RunResult = (typeof RESULTS)[number];

export interface DaemonMetrics {
  /** Instants in ms since 1970. */
  ran(result: RunResult, begun: number, ended: number): void;
  leads(leading: boolean): void;
}

export function daemonMetrics(metrics: Metrics, daemon: string): DaemonMetrics {
  const runs = metrics.counter('daemon_runs_total', 'Runs by result.', ['daemon', 'result']);
  const last = metrics.gauge('daemon_last_run_timestamp_seconds', 'End of the last run, whatever its result.', [
    'daemon',
  ]);
  const seconds = metrics.histogram('daemon_run_seconds', 'Duration of a run.', ['daemon']);
  const success = metrics.gauge('daemon_last_success_timestamp_seconds', 'End of the last good run.', ['daemon']);
  const leader = leaderGauge(metrics);
  // The counters start at zero, so that the first run shows as an increase.
  for (const result of RESULTS) runs.inc({ daemon, result }, 0);
  return {
    ran(result, begun, ended) {
      runs.inc({ daemon, result });
      seconds.observe({ daemon }, (ended - begun) / 1000);
      last.set({ daemon }, ended / 1000);
      if (result === 'done') success.set({ daemon }, ended / 1000);
    },
    leads: (leading) => leader.set({ daemon }, leading ? 1 : 0),
  };
}

/** 1 while this process leads the daemon. */
export const leaderGauge = (metrics: Metrics): Gauge<'daemon'> =>
  metrics.gauge('daemon_leader', '1 while this process leads; always 1 where every process runs.', ['daemon']);
