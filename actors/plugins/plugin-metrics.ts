// Outcomes and durations of the lanes' plugin calls. Measured inside of the breakers: a call that an open breaker rejects does
// not count.
//
//   success, invalid, missing-dependency   reported by the plugin's scripts
//   script-error, server-error             the plugin failed on its side
//   unanswered                             refused, reset, 502, 503: what the breaker counts
//   transient, aborted, defect, rejected   any other failure, by its kind; a timeout is transient

import { Failure, kindOf } from '../../engine/runtime/failure.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { LaneTasks, TaskRunner } from '../tasks/task-map.ts';

export interface PluginMetricsParts {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Value of the label `call` for each task that calls a plugin. */
const CALLS: Partial<Record<keyof LaneTasks, string>> = {
  'import-dataset': 'import',
  'install-data': 'install-data',
  'install-meta': 'install-meta',
  'install-files': 'install-files',
  uninstall: 'uninstall',
  'uninstall-files': 'uninstall-files',
};

/** Wraps `tasks`: those that call a plugin are measured. */
export function measurePluginCalls(tasks: TaskRunner, { clock, metrics }: PluginMetricsParts): TaskRunner {
  const calls = metrics.counter('plugin_calls_total', 'Plugin calls by outcome.', ['plugin', 'call', 'outcome']);
  const durations = metrics.histogram(
    'plugin_call_seconds',
    'Duration of a plugin call, including the wait for a worker thread.',
    ['plugin', 'call'],
  );
  return {
    async run(name, input, options) {
      const call = CALLS[name];
      if (call === undefined || !('plugin' in input)) return tasks.run(name, input, options);
      const { plugin } = input;
      const begun = clock.now();
      const ended = (outcome: string): void => {
        calls.inc({ plugin, call, outcome });
        durations.observe({ plugin, call }, (clock.now() - begun) / 1000);
      };
      try {
        const output = await tasks.run(name, input, options);
        ended('kind' in output ? output.kind : 'success');
        return output;
      } catch (error) {
        ended(options.signal.aborted ? 'aborted' : outcomeOf(error));
        throw error;
      }
    },
  };
}

const outcomeOf = (error: unknown): string =>
  error instanceof Failure && error.unanswered ? 'unanswered' : kindOf(error);
