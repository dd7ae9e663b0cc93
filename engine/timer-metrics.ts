// What a daemon tells about itself, label `daemon`.

import type { Metrics } from './metrics.ts';

export interface DaemonMetrics {
  /** Instants in ms since 1970. */
  ran(result: 'done' | 'failed' | 'aborted', begun: number, ended: number): void;
  leads(leading: boolean): void;
}

export function daemonMetrics(metrics: Metrics, daemon: string): DaemonMetrics {
  const runs = metrics.counter('daemon_runs_total', 'Runs by result.', ['daemon', 'result']);
  const seconds = metrics.histogram('daemon_run_seconds', 'Duration of a run.', ['daemon']);
  const success = metrics.gauge('daemon_last_success_timestamp_seconds', 'End of the last good run.', ['daemon']);
  const leader = metrics.gauge('daemon_leader', '1 while this process leads.', ['daemon']);
  return {
    ran(result, begun, ended) {
      runs.inc({ daemon, result });
      seconds.observe({ daemon }, (ended - begun) / 1000);
      if (result === 'done') success.set({ daemon }, ended / 1000);
    },
    leads: (leading) => leader.set({ daemon }, leading ? 1 : 0),
  };
}
