// A daemon: calls `runOnce` every period, varied by the jitter, one run at a time. With `lead`, it runs in one process only.
//   due, or requested by runNow   runs if it leads or becomes leader; if another process leads, retries later
//   a run fails                   is logged and counted; the next run starts at its time
//   quiet, stop                   no further run starts; the signal of the current run aborts shortly before the deadline
// A process keeps leadership between runs until it is lost or given up, so the same process does all runs.

import { Actor, type ActorOptions } from './actor.ts';
import { aborted, kindOf, messageOf, transient } from './failure.ts';
import { JoinedSignal } from './joined-signal.ts';
import { LiveSetting } from './live-setting.ts';
import type { Gauge, Metrics } from './metrics.ts';
import type { Random } from './retry.ts';
import { Notifier, settledUnless, unlessAborted } from './wait.ts';

/** Leadership: the right to run. Disposing gives it up. */
export interface Leadership extends AsyncDisposable {
  /** Aborts when leadership was lost; the run is aborted with it. */
  readonly lost?: AbortSignal;
}

export type Run<Result> = (signal: AbortSignal) => Promise<Result>;

type RunReport<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** Another process leads; request the run there. */
  | { readonly kind: 'not-leader' };

/** What a daemon is given besides its work. */
export interface TimerParts extends Omit<ActorOptions, 'name'> {
  readonly metrics: Metrics;
  readonly random?: Random;
}

export interface TimerOptions<Result> extends TimerParts, ActorOptions {
  /** From the start of one run to the start of the next; missed runs are skipped. May change while the daemon runs. */
  readonly periodMs: number | LiveSetting<number>;
  /** How much the period varies in both directions, as a fraction from 0 to 1; default 0.1. */
  readonly jitter?: number;
  /** Delay before the first run; default one period. */
  readonly firstMs?: number;
  readonly runOnce: Run<Result>;
  /** Returns leadership, or undefined while another process leads. Without this function, every process runs. */
  readonly lead?: (signal: AbortSignal) => Promise<Leadership | undefined>;
}

interface Order<Result> {
  readonly run: Run<Result>;
  readonly answer: PromiseWithResolvers<RunReport<Result>>;
}

/** Longest delay before a daemon that is due and does not lead requests leadership again. */
export const LEAD_RETRY_MS = 5_000;

export class Timer<Result> extends Actor {
  readonly #options: TimerOptions<Result>;
  readonly #notifier = new Notifier();
  readonly #metrics: DaemonMetrics;
  #lead: Leadership | undefined;
  #order: Order<Result> | undefined;
  readonly #periodMs: LiveSetting<number>;
  #dueAt = 0;
  /** When the current period began; undefined while the next run is not due by the period. */
  #begunAt: number | undefined;

  constructor(options: TimerOptions<Result>) {
    super(options);
    this.#options = options;
    const { periodMs } = options;
    this.#periodMs = periodMs instanceof LiveSetting ? periodMs : new LiveSetting(periodMs);
    this.#metrics = daemonMetrics(options.metrics, options.name);
    this.#notifier.notifyOn(this.draining);
  }

  /**
   * Executes `run` (default: the daemon's own) as soon as the current run has ended, and waits for it. Rejects with the run's
   * failure; `transient` when another order is already waiting; `aborted` at shutdown. The signal ends only the wait.
   */
  runNow(signal: AbortSignal, run: Run<Result> = this.#options.runOnce): Promise<RunReport<Result>> {
    if (this.draining.aborted) return Promise.reject(aborted(`daemon '${this.name}' is ending`));
    if (this.#order) return Promise.reject(transient(`daemon '${this.name}' has an order waiting already`));
    const answer = Promise.withResolvers<RunReport<Result>>();
    answer.promise.catch(() => {});
    this.#order = { run, answer };
    this.#notifier.notify();
    return unlessAborted(answer.promise, signal);
  }

  protected override async open(): Promise<void> {}

  /** Schedules the next run one new period after the start of the last one; at once when that time has passed. */
  #reschedule(): void {
    if (this.#begunAt === undefined) return;
    this.#dueAt = this.#begunAt + this.#period();
    this.#notifier.notify();
  }

  protected override async work(): Promise<void> {
    // Evaluated at each scrape, because leadership may be lost between two runs.
    using cleanup = new DisposableStack();
    cleanup.defer(() => this.#metrics.leads(false));
    cleanup.defer(this.#options.metrics.onScrape(() => this.#metrics.leads(this.#mayRun)));
    cleanup.defer(this.#periodMs.watch(() => this.#reschedule()));
    const { firstMs } = this.#options;
    this.#dueAt = this.clock.now() + (firstMs ?? this.#period());
    this.#begunAt = firstMs === undefined ? this.clock.now() : undefined;
    while (!this.draining.aborted) {
      const order = this.#takeOrder();
      if (!order && this.clock.now() < this.#dueAt) {
        await this.#notifier.wait(this.clock, this.#dueAt - this.clock.now());
        continue;
      }
      const startedAt = this.clock.now();
      if (await this.#leads()) {
        await this.#once(order);
        this.#begunAt = startedAt;
        const next = startedAt + this.#period();
        this.#dueAt = next > this.clock.now() ? next : this.clock.now() + this.#period();
      } else {
        order?.answer.resolve({ kind: 'not-leader' });
        if (startedAt >= this.#dueAt) {
          this.#begunAt = undefined;
          this.#dueAt = this.clock.now() + Math.min(LEAD_RETRY_MS, this.#period());
        }
      }
    }
    this.#takeOrder()?.answer.reject(aborted(`daemon '${this.name}' ended before the run`));
    await this.#resign();
  }

  get #mayRun(): boolean {
    if (!this.#options.lead) return true;
    return this.#lead !== undefined && !this.#lead.lost?.aborted;
  }

  #period(): number {
    const { jitter = 0.1, random = Math.random } = this.#options;
    return this.#periodMs.current * (1 + jitter * (2 * random() - 1));
  }

  #takeOrder(): Order<Result> | undefined {
    const order = this.#order;
    this.#order = undefined;
    return order;
  }

  async #leads(): Promise<boolean> {
    const { lead } = this.#options;
    if (!lead) return true;
    if (this.#lead?.lost?.aborted) await this.#resign();
    if (this.#lead) return true;
    try {
      this.#lead = await lead(this.hurried);
    } catch (error) {
      this.log.warn({ kind: kindOf(error), err: messageOf(error) }, 'leadership could not be checked; retrying');
    }
    return this.#lead !== undefined;
  }

  async #resign(): Promise<void> {
    const lead = this.#lead;
    this.#lead = undefined;
    if (!lead) return;
    const leaving = (async () => lead[Symbol.asyncDispose]())().catch((error: unknown) => {
      this.log.warn({ err: messageOf(error) }, 'the leader lease could not be released; it will expire');
    });
    await settledUnless(leaving, this.ended);
  }

  async #once(order: Order<Result> | undefined): Promise<void> {
    const begun = this.clock.now();
    using until = new JoinedSignal(this.hurried, this.#lead?.lost);
    const { signal } = until;
    try {
      const result = await (order?.run ?? this.#options.runOnce)(signal);
      this.#metrics.ran('done', begun, this.clock.now());
      order?.answer.resolve({ kind: 'done', result });
    } catch (error) {
      const kind = signal.aborted ? 'aborted' : kindOf(error);
      this.#metrics.ran(kind === 'aborted' ? 'aborted' : 'failed', begun, this.clock.now());
      const level = kind === 'aborted' ? 'info' : kind === 'transient' ? 'warn' : 'error';
      this.log[level]({ kind, err: messageOf(error) }, 'a run did not succeed');
      order?.answer.reject(error);
    }
  }
}

// The metrics of a daemon, with the label `daemon`.

const RESULTS = ['done', 'failed', 'aborted'] as const;
type RunResult = (typeof RESULTS)[number];

interface DaemonMetrics {
  /** Instants in ms since 1970. */
  ran(result: RunResult, begun: number, ended: number): void;
  leads(leading: boolean): void;
}

function daemonMetrics(metrics: Metrics, daemon: string): DaemonMetrics {
  const runs = metrics.counter('daemon_runs_total', 'Runs by result.', ['daemon', 'result']);
  const last = metrics.gauge('daemon_last_run_timestamp_seconds', 'End of the last run, whatever its result.', [
    'daemon',
  ]);
  const seconds = metrics.histogram('daemon_run_seconds', 'Duration of a run.', ['daemon']);
  const success = metrics.gauge('daemon_last_success_timestamp_seconds', 'End of the last good run.', ['daemon']);
  const leader = leaderGauge(metrics);
  // The counters start at zero, so that the first event shows as an increase.
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
