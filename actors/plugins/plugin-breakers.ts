// One circuit breaker per plugin, fed by the plugin calls of all lanes (docs/design/decisions.md#from-a-change-to-a-job). Only
// unanswered calls count as failures: refused, reset, 502, 503. Any answer closes the breaker, even an error of the plugin's
// scripts. A timeout, or a failure on our side, changes nothing. While a breaker is open, calls fail at once without using up
// an attempt, and lanes claim no jobs of the plugin's types.

import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import { PLUGIN_FAULT_ATTEMPTS } from '../../engine/ports/plugin-client.ts';
import { Breaker, type BreakerState, DEFAULT_BREAKER, type Verdict } from '../../engine/runtime/breaker.ts';
import { Failure, kindOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Gauge, Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { BlockedTypes } from '../jobs/job-source.ts';
import type { LaneTasks, TaskRunner } from '../tasks/task-map.ts';

/** A call that lasts longer has reached the plugin, because connecting times out sooner. Its job may go on for hours. */
const ACCEPTED_MS = 30_000;

interface PluginBreakersParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export class PluginBreakers implements BlockedTypes {
  readonly #types: DataTypes;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #open: Gauge<'plugin'>;
  readonly #breakers = new Map<string, Breaker>();
  /** By plugin: cancels the timer that wakes the lanes when a probe is due. */
  readonly #alarms = new Map<string, () => void>();
  readonly #wakes = new Set<() => void>();

  constructor(types: DataTypes, { clock, log, metrics }: PluginBreakersParts) {
    this.#types = types;
    this.#clock = clock;
    this.#log = log.child({ actor: 'pluginBreakers' });
    this.#metrics = metrics;
    this.#open = metrics.gauge('plugin_breaker_open', '1 while the plugin does not respond.', ['plugin']);
    for (const plugin of new Set(types.all().map((type) => type.plugin))) {
      const changed = (state: BreakerState): void => this.#changed(plugin, state);
      const options = { ...DEFAULT_BREAKER, acceptedMs: ACCEPTED_MS, changed };
      this.#breakers.set(plugin, new Breaker(`plugin ${plugin}`, options, clock));
      this.#open.set({ plugin }, 0);
    }
  }

  /** Keys of the plugins in the configuration. */
  get plugins(): readonly string[] {
    return [...this.#breakers.keys()];
  }

  /** Wraps `tasks`: those that call a plugin are measured and go through its breaker. */
  guard(tasks: TaskRunner): TaskRunner {
    const measured = measurePluginCalls(tasks, { clock: this.#clock, metrics: this.#metrics });
    return {
      run: (name, input, options) => {
        const breaker = this.#breakerOf(input);
        const run = () => measured.run(name, input, options);
        return breaker ? breaker.run(run, verdictOf) : run();
      },
    };
  }

  blockedTypes(): readonly string[] {
    return this.#types.all().flatMap((type) => (this.#breakers.get(type.plugin)?.blocked ? [typeKey(type)] : []));
  }

  watch(wake: () => void): () => void {
    // A new function per watcher, so that the same `wake` can be registered twice.
    const mine = (): void => wake();
    this.#wakes.add(mine);
    return () => this.#wakes.delete(mine);
  }

  /** Throws while the plugin does not answer. */
  check(plugin: string): void {
    const breaker = this.#breakers.get(plugin);
    if (!breaker || breaker.state === 'closed') return;
    const next = breaker.blocked && breaker.state === 'open' ? `in ${Math.ceil(breaker.retryInMs / 1000)} s` : 'now';
    throw transient(`plugin ${plugin} does not respond; next attempt ${next}`, { unreachable: true });
  }

  #breakerOf(input: LaneTasks[keyof LaneTasks]['input']): Breaker | undefined {
    return 'plugin' in input ? this.#breakers.get(input.plugin) : undefined;
  }

  #changed(plugin: string, state: BreakerState): void {
    this.#alarms.get(plugin)?.();
    this.#alarms.delete(plugin);
    this.#open.set({ plugin }, state === 'closed' ? 0 : 1);
    if (state === 'open') {
      const retryInMs = this.#breakers.get(plugin)?.retryInMs ?? 0;
      this.#alarms.set(
        plugin,
        this.#clock.after(retryInMs, () => this.#wake()),
      );
      this.#log.warn({ plugin, retryInMs }, 'a plugin does not respond; its jobs wait');
    } else if (state === 'closed') {
      this.#log.info({ plugin }, 'a plugin responds again');
      this.#wake();
    }
  }

  #wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }
}

function verdictOf(error: unknown): Verdict {
  if (error instanceof Failure && error.unanswered) return 'failed';
  const kind = kindOf(error);
  return kind === 'transient' || kind === 'aborted' ? 'unknown' : 'answered';
}

// Outcomes and durations of the lanes' plugin calls. Measured inside of the breakers: a call that an open breaker rejects does
// not count.
//
//   success, invalid, missing-dependency   reported by the plugin's scripts
//   script-error, server-error             the plugin failed on its side
//   unanswered                             refused, reset, 502, 503: what the breaker counts
//   transient, aborted, defect, rejected   any other failure, by its kind; a timeout is transient

interface PluginMetricsParts {
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

/** A plugin server that answered 500: an error on its side that may pass, but is not worth all attempts of a lane. */
export const pluginServerError = (plugin: string, message: string): Failure =>
  transient(`plugin ${plugin}: ${message}`, { maxAttempts: PLUGIN_FAULT_ATTEMPTS });
