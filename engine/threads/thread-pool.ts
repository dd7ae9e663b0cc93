// The threads of the worker pool and their life.
//   running    submit() gives a task to a thread
//   draining   the same: lanes that drain still need it
//   stopping   refuses; at `hurried` the tasks are cancelled, at `ended` the threads are ended by force
// The threads are Piscina's: it starts them, limits them, tells when they die. What one message costs is in outbox.ts.

import { Piscina } from 'piscina';
import { Bell } from '../runtime/bell.ts';
import { aborted, transient } from '../runtime/failure.ts';
import { Lifecycle, type LifecycleOptions } from '../runtime/lifecycle.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { ThreadCrew } from './thread-crew.ts';
import type { SessionStart } from './thread-messages.ts';
import { type SeatOptions, ThreadSeat } from './thread-seat.ts';

export interface ThreadPoolOptions extends LifecycleOptions {
  /** Entry file of a thread; its default export is made by serveTasks (thread.ts). */
  readonly filename: URL;
  /** Plain data that a thread opens its resources with. */
  readonly workerData: unknown;
  readonly threads: number;
  /** Threads for tasks that run alone; default 1. */
  readonly soloThreads?: number;
  /** Tasks that one shared thread runs at a time. */
  readonly tasksPerThread: number;
  /** Tasks that may wait for a place, of each kind; default 1,000. */
  readonly queueSize?: number;
  /** From a task's cancellation to the end of its thread; default 5 s. */
  readonly cancelGraceMs?: number;
  /** A thread idle for so long ends; default 60 s. */
  readonly idleMs?: number;
  /** A thread may take this long to start; default 30 s. */
  readonly openMs?: number;
  /** JavaScript heap of each thread; one that needs more dies. */
  readonly maxOldGenerationSizeMb?: number;
  readonly metrics: Metrics;
}

export interface TaskOptions {
  /** No other task in the same thread meanwhile. */
  readonly alone?: boolean;
  readonly signal: AbortSignal;
}

export class ThreadPool extends Lifecycle {
  readonly #options: ThreadPoolOptions;
  readonly #crews: { readonly shared: ThreadCrew; readonly solo: ThreadCrew };
  readonly #opening = new Set<ThreadSeat>();
  readonly #bell = new Bell();
  #piscina: Piscina<SessionStart, void> | undefined;
  /** Threads start one after the other: Piscina starts too many when several wait. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadPoolOptions) {
    super(options);
    this.#options = options;
    this.#crews = {
      shared: this.#crew('shared', options.threads, options.tasksPerThread),
      solo: this.#crew('solo', options.soloThreads ?? 1, 1),
    };
    this.#bell.ringOn(this.stopping, this.hurried, this.ended);
  }

  /** See WorkerPool.run. */
  submit(name: string, input: unknown, options: TaskOptions): Promise<unknown> {
    const { signal } = options;
    if (this.stopping.aborted) return Promise.reject(aborted('the worker pool is shut down'));
    if (!this.#piscina) return Promise.reject(transient('the worker pool has not started', { unreachable: true }));
    if (signal.aborted) return Promise.reject(signal.reason);
    return (options.alone ? this.#crews.solo : this.#crews.shared).submit(name, input, signal);
  }

  protected override async open(): Promise<void> {
    const { filename, threads, soloThreads = 1, maxOldGenerationSizeMb } = this.#options;
    this.#piscina = new Piscina<SessionStart, void>({
      filename: filename.href,
      minThreads: 0,
      maxThreads: threads + soloThreads,
      // A thread without a session is done with.
      idleTimeout: 0,
      // A thread that sleeps in Atomics.wait would hold up its own sockets.
      atomics: 'disabled',
      recordTiming: false,
      ...(maxOldGenerationSizeMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb } }),
    });
    // A thread that dies before its session begins is told of here only.
    this.#piscina.on('error', (error) => {
      for (const seat of this.#opening) seat.fail(error);
    });
  }

  protected override async work(): Promise<void> {
    using _observed = { [Symbol.dispose]: this.#options.metrics.onScrape(() => this.#observe()) };
    while (!this.stopping.aborted) await this.#bell.wait(this.clock, Number.POSITIVE_INFINITY);
    await this.#answeredBefore(this.hurried);
    for (const crew of Object.values(this.#crews)) crew.cancelAll(this.hurried.reason);
    await this.#answeredBefore(this.ended);
    for (const crew of Object.values(this.#crews)) crew.close(this.stopping.reason);
    if (this.#piscina) await this.#piscina.destroy();
    this.#observe();
  }

  async #answeredBefore(signal: AbortSignal): Promise<void> {
    const { shared, solo } = this.#crews;
    while (shared.unanswered + solo.unanswered > 0 && !signal.aborted)
      await this.#bell.wait(this.clock, Number.POSITIVE_INFINITY);
  }

  #crew(name: 'shared' | 'solo', threads: number, tasksPerThread: number): ThreadCrew {
    const { queueSize = 1000, idleMs = 60_000, metrics } = this.#options;
    const deaths = metrics.counter('worker_thread_deaths_total', 'Threads that died by themselves.', ['kind']);
    return new ThreadCrew({
      name,
      threads,
      tasksPerThread,
      queueSize,
      idleMs,
      clock: this.clock,
      log: this.log,
      openSeat: (freed, gone) => this.#openSeat(freed, gone),
      died: () => deaths.inc({ kind: name }),
      idle: () => {
        if (this.stopping.aborted) this.#bell.ring();
      },
    });
  }

  #openSeat(freed: () => void, gone: SeatOptions['gone']): Promise<ThreadSeat> {
    const opening = this.#turn.then(async () => {
      const { workerData, openMs = 30_000, cancelGraceMs = 5000 } = this.#options;
      if (!this.#piscina || this.ended.aborted) throw aborted('the worker pool is shut down');
      const { clock } = this;
      const piscina = this.#piscina;
      const seat = new ThreadSeat({ piscina, workerData, openMs, cancelGraceMs, clock, freed, gone });
      this.#opening.add(seat);
      try {
        await seat.opened();
        return seat;
      } finally {
        this.#opening.delete(seat);
      }
    });
    this.#turn = opening.catch(() => {});
    return opening;
  }

  #observe(): void {
    const { metrics } = this.#options;
    const threads = metrics.gauge('worker_threads', 'Threads that are up.', ['kind']);
    const running = metrics.gauge('worker_tasks_running', 'Tasks in threads.', ['kind']);
    const waiting = metrics.gauge('worker_tasks_waiting', 'Tasks waiting for a place.', ['kind']);
    for (const [kind, crew] of Object.entries(this.#crews)) {
      threads.set({ kind }, crew.threads);
      running.set({ kind }, crew.running);
      waiting.set({ kind }, crew.waiting);
    }
  }
}
