// A daemon: runs `runOnce` every period, give or take the jitter, one run after the other, in one process only.
//   due, or asked by runNow    leads already, or gets the lead: runs; somebody else leads: asks again later
//   a run fails                logged and counted; the next one comes at its time
//   quiet, stop                no further run; the running one has its signal aborted shortly before the deadline
// The lead is kept between runs, so that of several processes always the same one runs, until it is lost or given up.

import { Bell } from './bell.ts';
import { aborted, kindOf, messageOf, transient } from './failure.ts';
import { JoinedSignal } from './joined-signal.ts';
import { Lifecycle, type LifecycleOptions } from './lifecycle.ts';
import type { Metrics } from './metrics.ts';
import type { Random } from './retry.ts';
import { type DaemonMetrics, daemonMetrics } from './timer-metrics.ts';
import { Tunable } from './tunable.ts';
import { settledUnless, unlessAborted } from './wait.ts';

/** The right to run; disposing gives it up. */
export interface Lead extends AsyncDisposable {
  /** Aborts when the right was lost, and with it the run. */
  readonly lost?: AbortSignal;
}

export type Run<Result> = (signal: AbortSignal) => Promise<Result>;

export type RunReport<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** Another process leads: it has to be asked. */
  | { readonly kind: 'not-leader' };

export interface TimerOptions<Result> extends LifecycleOptions {
  /** From the start of one run to the start of the next; runs that are missed are left out. May change meanwhile. */
  readonly periodMs: number | Tunable<number>;
  /** Share of the period by which it varies, 0 to 1; default 0.1. */
  readonly jitter?: number;
  /** Until the first run; default one period. */
  readonly firstMs?: number;
  readonly runOnce: Run<Result>;
  /** The lead, or undefined while another process has it; without this hook every process runs. */
  readonly lead?: (signal: AbortSignal) => Promise<Lead | undefined>;
  readonly metrics: Metrics;
  readonly random?: Random;
}

interface Order<Result> {
  readonly run: Run<Result>;
  readonly answer: PromiseWithResolvers<RunReport<Result>>;
}

/** After how long one that is due and does not lead asks again, at most. */
export const LEAD_RETRY_MS = 5_000;

export class Timer<Result> extends Lifecycle {
  readonly #options: TimerOptions<Result>;
  readonly #bell = new Bell();
  readonly #metrics: DaemonMetrics;
  #lead: Lead | undefined;
  #order: Order<Result> | undefined;
  readonly #periodMs: Tunable<number>;
  #dueAt = 0;
  /** When the period began that is under way; undefined while the run is due by another reckoning. */
  #begunAt: number | undefined;

  constructor(options: TimerOptions<Result>) {
    super(options);
    this.#options = options;
    const { periodMs } = options;
    this.#periodMs = periodMs instanceof Tunable ? periodMs : new Tunable(periodMs);
    this.#metrics = daemonMetrics(options.metrics, options.name);
    this.#bell.ringOn(this.draining);
  }

  /**
   * Has `run` (default: the daemon's own) done as soon as the current run has ended, and waits for it. Rejects with the
   * run's failure; `transient` when another order waits already; `aborted` at the end. The signal ends the wait only.
   */
  runNow(signal: AbortSignal, run: Run<Result> = this.#options.runOnce): Promise<RunReport<Result>> {
    if (this.draining.aborted) return Promise.reject(aborted(`daemon '${this.name}' is ending`));
    if (this.#order) return Promise.reject(transient(`daemon '${this.name}' has an order waiting already`));
    const answer = Promise.withResolvers<RunReport<Result>>();
    answer.promise.catch(() => {});
    this.#order = { run, answer };
    this.#bell.ring();
    return unlessAborted(answer.promise, signal);
  }

  protected override async open(): Promise<void> {}

  /** The next run comes one new period after the start of the last one: at once when that is past. */
  #reckonAgain(): void {
    if (this.#begunAt === undefined) return;
    this.#dueAt = this.#begunAt + this.#period();
    this.#bell.ring();
  }

  protected override async work(): Promise<void> {
    // Asked at each scrape: a lead may be lost between two runs.
    using cleanup = new DisposableStack();
    cleanup.defer(() => this.#metrics.leads(false));
    cleanup.defer(this.#options.metrics.onScrape(() => this.#metrics.leads(this.#mayRun)));
    cleanup.defer(this.#periodMs.watch(() => this.#reckonAgain()));
    const { firstMs } = this.#options;
    this.#dueAt = this.clock.now() + (firstMs ?? this.#period());
    this.#begunAt = firstMs === undefined ? this.clock.now() : undefined;
    while (!this.draining.aborted) {
      const order = this.#takeOrder();
      if (!order && this.clock.now() < this.#dueAt) {
        await this.#bell.wait(this.clock, this.#dueAt - this.clock.now());
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
      this.log.warn({ kind: kindOf(error), err: messageOf(error) }, 'cannot tell who leads; trying on');
    }
    return this.#lead !== undefined;
  }

  async #resign(): Promise<void> {
    const lead = this.#lead;
    this.#lead = undefined;
    if (!lead) return;
    const leaving = (async () => lead[Symbol.asyncDispose]())().catch((error: unknown) => {
      this.log.warn({ err: messageOf(error) }, 'the lead could not be given up');
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
