// The daemons that run periodically in a single process of the deployment: reconciler and pruner. Both outlive their timers,
// which the supervisor may restart, so the time and result of the last run stay known.

import type {
  OrderAnswer,
  PrunerControl,
  PrunerReport,
  ReconcilerControl,
  ReconcilerReport,
} from '../../engine/ports/process-control.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Random } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { type Run, Timer, type TimerOptions } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { Reconciler, type ReconcilerPorts } from '../reconciler/reconciler.ts';
import type { SlimPace } from '../reconciler/slim-part.ts';
import type { DaemonLeaders } from './leadership.ts';
import { Pruner, type PrunerPorts } from './pruner.ts';

/** `installer.daemons` of config/REFERENCE.md; durations in ms. */
export interface DaemonSettings {
  readonly pruner: { readonly retentionWindowMs: number; readonly pruneIntervalMs: number };
  readonly reconciler: ReconcilerSchedule & { readonly performDeletes: boolean };
}

/** The settings that may change while the daemons run. */
export interface DaemonIntervals {
  readonly pruner: Pick<DaemonSettings['pruner'], 'pruneIntervalMs'>;
  readonly reconciler: ReconcilerIntervals;
}

interface DaemonsOptions extends ReconcilerPorts, PrunerPorts {
  readonly settings: DaemonSettings;
  readonly index: ReconcilerPorts['index'] & PrunerPorts['index'];
  readonly random: Random;
}

/** The daemons of one process. */
export class Daemons {
  readonly #options: DaemonsOptions;
  readonly #reconciler: Reconciler;
  readonly #pruner: Pruner;
  readonly #times: ReconcilerTimes;
  readonly #pruneIntervalMs: LiveSetting<number>;
  readonly #reconcilerOrders = new DaemonOrders<ReconcilerReport | undefined>('reconciler');
  readonly #prunerOrders = new DaemonOrders<PrunerReport>('pruner');

  constructor(options: DaemonsOptions) {
    this.#options = options;
    this.#reconciler = new Reconciler(options);
    this.#pruner = new Pruner(options);
    this.#times = new ReconcilerTimes(options.settings.reconciler, options.clock);
    this.#pruneIntervalMs = new LiveSetting(options.settings.pruner.pruneIntervalMs);
  }

  /** The next runs are due relative to the start of the last ones. */
  changeIntervals({ pruner, reconciler }: DaemonIntervals): void {
    this.#pruneIntervalMs.set(pruner.pruneIntervalMs);
    this.#times.change(reconciler);
  }

  get reconciler(): ReconcilerControl {
    const reconciler = this.#reconciler;
    const order: ReconcilerControl['order'] = (kind, { allowDeletes }, signal) =>
      this.#reconcilerOrders.order((until) => this.#reconcile(kind, allowDeletes, until), signal);
    return {
      get current() {
        return reconciler.current;
      },
      get lastReport() {
        return reconciler.lastReport;
      },
      order,
    };
  }

  get pruner(): PrunerControl {
    const pruner = this.#pruner;
    const order: PrunerControl['order'] = ({ minAgeMs }, signal) =>
      this.#prunerOrders.order((until) => this.#prune(minAgeMs, until), signal);
    return {
      get current() {
        return pruner.current;
      },
      get lastReport() {
        return pruner.lastReport;
      },
      order,
    };
  }

  specs(leads: DaemonLeaders): readonly ChildSpec[] {
    const { settings } = this.#options;
    if (!settings.reconciler.enabled) warnOfDisabled(this.#options.log);
    return [
      {
        name: 'reconciler',
        create: () =>
          this.#reconcilerOrders.attach(
            this.#timer('reconciler', leads, {
              periodMs: this.#times.tickMs,
              firstMs: 0,
              runOnce: async (signal) => {
                const due = this.#times.due();
                if (!due) return undefined;
                const pace = due === 'slim' ? this.#times.pace : undefined;
                return this.#reconcilerOrders.counted(() => this.#reconcile(due, false, signal, pace))(signal);
              },
            }),
          ),
      },
      {
        name: 'pruner',
        create: () =>
          this.#prunerOrders.attach(
            this.#timer('pruner', leads, {
              periodMs: this.#pruneIntervalMs,
              runOnce: this.#prunerOrders.counted((signal) => this.#prune(undefined, signal)),
            }),
          ),
      },
    ];
  }

  #timer<Result>(
    name: string,
    leads: DaemonLeaders,
    own: Pick<TimerOptions<Result>, 'periodMs' | 'firstMs' | 'runOnce'>,
  ): Timer<Result> {
    const { clock, log, metrics, random } = this.#options;
    return new Timer({ name, clock, log, metrics, random, lead: (signal) => leads.take(name, signal), ...own });
  }

  /** @param pace makes a slim run compare the next part of the store instead of all of it */
  #reconcile(
    kind: 'full' | 'slim',
    allowDeletes: boolean,
    signal: AbortSignal,
    pace?: SlimPace,
  ): Promise<ReconcilerReport> {
    const { enabled, performDeletes } = this.#options.settings.reconciler;
    // If another installation shares the targets, datasets missing from this store may belong to the other installation.
    const order = { kind, allowDeletes, performDeletes: performDeletes && enabled, ...(pace && { pace }) };
    return this.#times.during(kind, () => this.#reconciler.runOnce(order, signal));
  }

  #prune(minAgeMs = this.#options.settings.pruner.retentionWindowMs, signal: AbortSignal): Promise<PrunerReport> {
    return this.#pruner.runOnce(new Date(this.#options.clock.now() - minAgeMs), signal);
  }
}

function warnOfDisabled(log: Logger): void {
  log.warn({ actor: 'reconciler' }, 'full runs of the reconciler are disabled: install targets are not compared');
}

/**
 * Delivers orders to a daemon from outside of the supervision tree. The supervisor may restart the timer; orders go to the
 * newest one.
 */
class DaemonOrders<Result> {
  readonly #name: string;
  #timer: Timer<Result> | undefined;
  /** How many runs are in progress or ordered. */
  #busy = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Sends orders to this timer from now on. */
  attach(timer: Timer<Result>): Timer<Result> {
    this.#timer = timer;
    return timer;
  }

  /** Wraps whatever the timer runs, so that an order during the run learns that one is in progress. */
  counted(run: Run<Result>): Run<Result> {
    return async (signal) => {
      this.#busy++;
      try {
        return await run(signal);
      } finally {
        this.#busy--;
      }
    };
  }

  /** Resolves as soon as the run starts; the signal cancels only the wait for that. `transient` while no timer is attached. */
  async order(run: Run<Result>, signal: AbortSignal): Promise<OrderAnswer> {
    if (this.#busy > 0) return 'running';
    if (!this.#timer) throw transient(`daemon '${this.#name}' is not running yet`);
    const answer = Promise.withResolvers<OrderAnswer>();
    const begin: Run<Result> = (until) => {
      answer.resolve('started');
      return this.counted(run)(until);
    };
    this.#busy++;
    const told = this.#timer.runNow(new AbortController().signal, begin).then(
      ({ kind }) => answer.resolve(kind === 'not-leader' ? 'elsewhere' : 'started'),
      // If the run had already started, the timer has logged its failure.
      (error: unknown) => answer.reject(error),
    );
    void told.finally(() => this.#busy--);
    return unlessAborted(answer.promise, signal);
  }
}

// When the reconciler runs: if enabled, a full run at startup and every fullRunInterval; a slim run when neither kind has run
// for slimRunInterval (config/REFERENCE.md). Both are rounded to the nearest tick of its timer.

type ReconcilerIntervals = Pick<SlimPace, 'fullRunIntervalMs' | 'slimRunIntervalMs'>;

interface ReconcilerSchedule extends SlimPace {
  /** False: full runs happen only when ordered. */
  readonly enabled: boolean;
}

class ReconcilerTimes {
  /** Period of the timer. */
  readonly tickMs: LiveSetting<number>;
  #schedule: ReconcilerSchedule;
  readonly #clock: Clock;
  #lastFull = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  constructor(schedule: ReconcilerSchedule, clock: Clock) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.tickMs = new LiveSetting(tickOf(schedule));
  }

  /** Applies at once, relative to the past runs. */
  change(intervals: ReconcilerIntervals): void {
    const { fullRunIntervalMs, slimRunIntervalMs } = intervals;
    this.#schedule = { ...this.#schedule, fullRunIntervalMs, slimRunIntervalMs };
    this.tickMs.set(tickOf(this.#schedule));
  }

  /** Of the slim runs. They share a pass also where full runs are disabled. */
  get pace(): SlimPace {
    return this.#schedule;
  }

  /** The run that is due now, if any. */
  due(): 'full' | 'slim' | undefined {
    const { enabled, fullRunIntervalMs, slimRunIntervalMs } = this.#schedule;
    const now = this.#clock.now() + this.tickMs.current / 2;
    if (enabled && now - this.#lastFull >= fullRunIntervalMs) return 'full';
    return now - this.#last >= slimRunIntervalMs ? 'slim' : undefined;
  }

  /**
   * Records a run, including an ordered one. A full run counts as a slim one too; one that fails is due again at the next tick.
   */
  async during<Result>(kind: 'full' | 'slim', run: () => Promise<Result>): Promise<Result> {
    const begun = this.#clock.now();
    this.#last = begun;
    const result = await run();
    if (kind === 'full') this.#lastFull = begun;
    return result;
  }
}

const tickOf = ({ enabled, fullRunIntervalMs, slimRunIntervalMs }: ReconcilerSchedule): number =>
  enabled ? Math.min(fullRunIntervalMs, slimRunIntervalMs) : slimRunIntervalMs;
