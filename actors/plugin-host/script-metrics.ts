// How often each kind of script ran, how it ended and how long it took; observed on every path.

import type { Metrics } from '../../engine/runtime/metrics.ts';

export const SCRIPT_KINDS = ['import', 'check_compat', 'install_data', 'install_meta', 'uninstall'] as const;
export type ScriptKind = (typeof SCRIPT_KINDS)[number];

/** `unknown` is any other exit code, a signal included. */
export type ExitStatus =
  | 'success'
  | 'validation_failure'
  | 'incompatible'
  | 'unknown'
  | 'timed_out'
  | 'not_started'
  | 'aborted';

export class ScriptMetrics {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    // Made beforehand, so that a scrape shows them before the first script.
    for (const kind of SCRIPT_KINDS) {
      this.#executions(kind);
      this.#duration(kind);
    }
  }

  observe(kind: ScriptKind, plugin: string, status: ExitStatus, durationMs: number): void {
    this.#executions(kind).inc({ plugin, exit_status: status });
    this.#duration(kind).observe({ plugin }, durationMs / 1000);
  }

  #executions(kind: ScriptKind) {
    return this.#metrics.counter(`${kind}_script_executions_total`, `Runs of ${kind} scripts`, [
      'plugin',
      'exit_status',
    ]);
  }

  #duration(kind: ScriptKind) {
    return this.#metrics.histogram(`script_${kind}_duration_seconds`, `Duration of ${kind} scripts`, ['plugin']);
  }
}
