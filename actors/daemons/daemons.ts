// The daemons that run periodically in a single process of the deployment: reconciler and pruner. Both outlive their timers,
// which the supervisor may restart, so the time and result of the last run stay known.

import type {
  PrunerControl,
  PrunerReport,
  ReconcilerControl,
  ReconcilerReport,
} from '../../engine/ports/process-control.ts';
import type { ChildSpec } from '../../engine/runtime/child.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Random } from '../../engine/runtime/retry.ts';
import { Timer, type TimerOptions } from '../../engine/runtime/timer.ts';
import { Reconciler, type ReconcilerPorts } from '../reconciler/reconciler.ts';
import { type ReconcilerIntervals, type ReconcilerSchedule, ReconcilerTimes } from '../reconciler/reconciler-times.ts';
import { DaemonOrders } from './daemon-orders.ts';
import type { DaemonLeads } from './leadership.ts';
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

export interface DaemonsOptions extends ReconcilerPorts, PrunerPorts {
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

  specs(leads: DaemonLeads): readonly ChildSpec[] {
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
                return due && this.#reconcilerOrders.counted(() => this.#reconcile(due, false, signal))(signal);
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
    leads: DaemonLeads,
    own: Pick<TimerOptions<Result>, 'periodMs' | 'firstMs' | 'runOnce'>,
  ): Timer<Result> {
    const { clock, log, metrics, random } = this.#options;
    return new Timer({ name, clock, log, metrics, random, lead: (signal) => leads.take(name, signal), ...own });
  }

  #reconcile(kind: 'full' | 'slim', allowDeletes: boolean, signal: AbortSignal): Promise<ReconcilerReport> {
    const { enabled, performDeletes } = this.#options.settings.reconciler;
    // If another installation shares the targets, datasets missing from this store may belong to the other installation.
    const order = { kind, allowDeletes, performDeletes: performDeletes && enabled };
    return this.#times.during(kind, () => this.#reconciler.runOnce(order, signal));
  }

  #prune(minAgeMs = this.#options.settings.pruner.retentionWindowMs, signal: AbortSignal): Promise<PrunerReport> {
    return this.#pruner.runOnce(new Date(this.#options.clock.now() - minAgeMs), signal);
  }
}

function warnOfDisabled(log: Logger): void {
  log.warn({ actor: 'reconciler' }, 'full runs of the reconciler are disabled: install targets are not compared');
}
