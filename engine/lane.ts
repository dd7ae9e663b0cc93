// A lane: claims jobs from a source in batches, works on a bounded number of them, gives their outcomes back.
//
// A job claimed      waits in the mailbox, then runs in one of `workerCount` places
//   run resolves     its outcome waits to be written
//   run rejects      `settle` turns the error (the abort's reason when we aborted it) into an outcome
//   not begun        at stop, `abandon` says the outcome
// Outcomes are written and new jobs claimed in one exchange with the source, never two at once: what finishes while one
// is under way goes with the next (group commit). A failing exchange backs off and keeps the outcomes; they cannot
// pile up, for without an exchange nothing new is claimed. What an exchange brought begins when the next one has been
// sent, if one is due: the source works while this thread hands out the jobs.
//   resize  running jobs beyond the new number end in their time; waiting ones beyond it are given back
//   quiet   nothing more is claimed     stop   see Lifecycle; outcomes are still written     kill   nothing is

import { Bell } from './bell.ts';
import { aborted, kindOf, messageOf } from './failure.ts';
import { type LaneMetrics, type LaneOutcome, type LaneSizes, laneMetrics } from './lane-metrics.ts';
import type { Completion, LaneBounds, LaneOptions } from './lane-options.ts';
import { Lifecycle } from './lifecycle.ts';
import { Mailbox } from './mailbox.ts';
import { Backoff } from './retry.ts';

interface Claimed<Job> {
  readonly job: Job;
  readonly at: number;
}

interface Running<Job> {
  readonly job: Job;
  readonly claimedAt: number;
  readonly controller: AbortController;
  /** The same job claimed again (its lease was lost and won back): begins when this run has ended. */
  next?: Claimed<Job>;
}

/** At thousands of jobs a second half a mailbox, so that an exchange is of many; nothing to a job that takes long. */
const FLUSH_MS = 25;
const EXCHANGE_BACKOFF = { baseMs: 100, maxMs: 10_000 };

export class Lane<Job, Outcome extends LaneOutcome> extends Lifecycle {
  readonly #options: LaneOptions<Job, Outcome>;
  readonly #mailbox: Mailbox<Claimed<Job>>;
  readonly #running = new Map<number | string, Running<Job>>();
  /** Of those running the ones that have a place and begin at the next occasion. */
  #placed: Running<Job>[] = [];
  /** Waiting jobs that are not to begin, and why. */
  readonly #doomed = new Map<number | string, unknown>();
  readonly #backoff = new Backoff(EXCHANGE_BACKOFF);
  readonly #bell = new Bell();
  readonly #metrics: LaneMetrics;
  #workers: number;
  #done: Completion<Job, Outcome>[] = [];
  #sending: readonly Completion<Job, Outcome>[] = [];
  #mayHaveJobs = true;
  #pollAt = 0;
  #flushAt = 0;
  #retryAt = 0;
  #fault: { readonly error: unknown } | undefined;

  constructor(options: LaneOptions<Job, Outcome>) {
    super(options);
    this.#options = options;
    this.#mailbox = new Mailbox(options.queueSize);
    this.#workers = options.workerCount;
    this.#metrics = laneMetrics(options.metrics, options.name);
    this.#bell.ringOn(this.draining, this.stopping, this.ended);
    this.hurried.addEventListener('abort', () => this.#abortRunning(), { once: true });
  }

  get sizes(): LaneSizes {
    return {
      depth: this.#mailbox.size,
      capacity: this.#mailbox.capacity,
      inFlight: this.#running.size,
      workers: this.#workers,
      unwritten: this.#done.length + this.#sending.length,
    };
  }

  /** Every claimed job whose outcome is not written yet: those whose leases must be kept. */
  held(): Job[] {
    const running = [...this.#running.values()].flatMap(({ job, next }) => (next ? [job, next.job] : [job]));
    const waiting = [...this.#mailbox].map(({ job }) => job);
    return [...waiting, ...running, ...this.#sending.map(({ job }) => job), ...this.#done.map(({ job }) => job)];
  }

  /** Aborts the job if it runs, keeps it from beginning if it waits; false when the lane has no such job. */
  abortJob(id: number | string, reason: Error): boolean {
    const running = this.#running.get(id);
    running?.controller.abort(reason);
    const waits = ({ job }: Claimed<Job>): boolean => this.#options.idOf(job) === id;
    const waiting = running?.next !== undefined || [...this.#mailbox].some(waits);
    if (waiting) this.#doomed.set(id, reason);
    return running !== undefined || waiting;
  }

  /** At any time: no job is lost, aborted or begun twice. More workers begin what waits at once. */
  resize({ queueSize, workerCount }: LaneBounds): void {
    this.#workers = workerCount;
    if (!this.stopping.aborted) this.#beginWaiting();
    for (const claimed of this.#mailbox.resize(queueSize)) this.#giveBack(claimed);
    this.#mayHaveJobs = true;
    this.#bell.ring();
  }

  protected override async open(): Promise<void> {}

  protected override async work(): Promise<void> {
    using cleanup = new DisposableStack();
    cleanup.defer(this.#options.metrics.onScrape(() => this.#metrics.show(this.sizes)));
    cleanup.defer(() => this.#leave());
    const wake = (): void => {
      this.#mayHaveJobs = true;
      this.#bell.ring();
    };
    cleanup.defer(this.#options.source.watch(wake));
    while (!this.#finished()) {
      if (this.#fault) throw this.#fault.error;
      if (this.stopping.aborted) this.#abandonWaiting();
      const wait = this.#untilExchange(this.clock.now());
      if (wait === 0) {
        await this.#exchange();
        continue;
      }
      this.#beginPlaced();
      await this.#bell.wait(this.clock, wait);
    }
  }

  #leave(): void {
    const lost = this.held().length;
    if (lost > 0) this.log.warn({ lane: this.name, lost }, 'ended with jobs whose outcome is not written');
    this.#abortRunning();
    this.#metrics.show({ depth: 0, capacity: 0, inFlight: 0, workers: 0, unwritten: 0 });
  }

  #finished(): boolean {
    if (this.ended.aborted) return true;
    return this.draining.aborted && this.#mailbox.size + this.#running.size + this.#done.length === 0;
  }

  /** Jobs that would find a place just now. */
  get #room(): number {
    const free = Math.max(0, this.#workers - this.#running.size);
    return this.draining.aborted ? 0 : free + this.#mailbox.capacity - this.#mailbox.size;
  }

  /** Milliseconds until the next exchange is due; 0 = now, Infinity = not before something happens. */
  #untilExchange(now: number): number {
    const low = this.#mailbox.size * 2 < this.#mailbox.capacity;
    const flushIn = this.#done.length === 0 ? Number.POSITIVE_INFINITY : low ? 0 : this.#flushAt - now;
    const claimIn = !low || this.#room === 0 ? Number.POSITIVE_INFINITY : this.#mayHaveJobs ? 0 : this.#pollAt - now;
    return Math.max(0, this.#retryAt - now, Math.min(flushIn, claimIn));
  }

  async #exchange(): Promise<void> {
    const now = this.clock.now();
    const limit = this.#mayHaveJobs || now >= this.#pollAt ? this.#room : 0;
    if (limit > 0) {
      // Before the call: a wake during it must not be forgotten.
      this.#mayHaveJobs = false;
      this.#pollAt = now + this.#options.pollMs;
    }
    const done = this.#done;
    this.#sending = done;
    this.#done = [];
    try {
      const sent = this.#options.source.exchange(done, limit, this.ended);
      this.#beginPlaced();
      const jobs = await sent;
      this.#sending = [];
      this.#exchanged(jobs, limit);
    } catch (error) {
      this.#sending = [];
      this.#done = [...done, ...this.#done];
      if (limit > 0) this.#mayHaveJobs = true;
      this.#exchangeFailed(error);
    }
  }

  #exchanged(jobs: readonly Job[], limit: number): void {
    if (this.#backoff.failures > 0) this.log.info({ lane: this.name }, 'exchange with the job source works again');
    this.#backoff.succeeded();
    this.#metrics.exchanged('ok', jobs.length);
    if (limit > 0 && jobs.length >= limit) this.#mayHaveJobs = true;
    const at = this.clock.now();
    for (const job of jobs) {
      const claimed = { job, at };
      if (this.stopping.aborted) this.#complete(job, this.#options.abandon(job));
      else this.#admit(claimed);
    }
  }

  #admit(claimed: Claimed<Job>): void {
    if (this.#running.size < this.#workers) this.#place(claimed);
    else if (!this.#mailbox.offer(claimed)) this.#giveBack(claimed);
  }

  /** A job that waited and is not to begin here: as it was doomed, or else for anybody to claim again. */
  #giveBack({ job }: Claimed<Job>): void {
    const id = this.#options.idOf(job);
    const doomed = this.#doomed.has(id);
    const reason = this.#doomed.get(id);
    this.#doomed.delete(id);
    this.#complete(job, doomed ? this.#settle(reason, job) : this.#options.abandon(job));
  }

  #exchangeFailed(error: unknown): void {
    this.#metrics.exchanged('failed', 0);
    const first = this.#backoff.failures === 0;
    // The time before the deadline is short: no long waits then.
    const delayMs = this.stopping.aborted ? EXCHANGE_BACKOFF.baseMs : this.#backoff.failed();
    this.#retryAt = this.clock.now() + delayMs;
    if (!first || this.ended.aborted) return;
    const kind = kindOf(error);
    const fields = { lane: this.name, kind, err: messageOf(error), unwritten: this.#done.length };
    this.log[kind === 'defect' ? 'error' : 'warn'](fields, 'exchange with the job source failed; trying on');
  }

  #place(claimed: Claimed<Job>): void {
    const { job } = claimed;
    const id = this.#options.idOf(job);
    const twin = this.#running.get(id);
    if (twin) {
      if (twin.next) this.#complete(twin.next.job, this.#options.abandon(twin.next.job));
      twin.next = claimed;
      return;
    }
    if (this.#doomed.has(id)) {
      this.#giveBack(claimed);
      return;
    }
    const running: Running<Job> = { job, claimedAt: claimed.at, controller: new AbortController() };
    this.#running.set(id, running);
    this.#placed.push(running);
  }

  #beginPlaced(): void {
    const placed = this.#placed;
    this.#placed = [];
    for (const running of placed) void this.#perform(running);
  }

  /** Never rejects. */
  async #perform(running: Running<Job>): Promise<void> {
    const { job, claimedAt, controller } = running;
    const begun = this.clock.now();
    this.#metrics.started(begun - claimedAt + (this.#options.waitedMs?.(job) ?? 0));
    let outcome: Outcome | undefined;
    try {
      controller.signal.throwIfAborted();
      outcome = await this.#options.run(job, controller.signal);
    } catch (error) {
      // Whatever it turned our abort into, the abort is the reason.
      outcome = this.#settle(controller.signal.aborted ? controller.signal.reason : error, job);
    }
    this.#running.delete(this.#options.idOf(job));
    if (this.#options.source.heldBack?.()) this.#mayHaveJobs = true;
    this.#complete(job, outcome, this.clock.now() - begun);
    if (this.stopping.aborted) {
      if (running.next) this.#complete(running.next.job, this.#options.abandon(running.next.job));
    } else {
      // Not at once where the place itself is gone.
      if (running.next) this.#admit(running.next);
      this.#beginWaiting();
    }
    this.#bell.ring();
  }

  #beginWaiting(): void {
    while (this.#running.size < this.#workers) {
      const claimed = this.#mailbox.poll();
      if (!claimed) break;
      this.#place(claimed);
    }
    this.#beginPlaced();
  }

  #settle(error: unknown, job: Job): Outcome | undefined {
    try {
      return this.#options.settle(error, job);
    } catch (fault) {
      // Without an outcome the job would be held for ever: break, so that its lease runs out.
      this.#fault = { error: fault };
      return undefined;
    }
  }

  #complete(job: Job, outcome: Outcome | undefined, ranMs?: number): void {
    if (outcome === undefined) return;
    this.#metrics.finished(outcome, ranMs);
    if (this.#done.length === 0) this.#flushAt = this.clock.now() + (this.#options.flushMs ?? FLUSH_MS);
    this.#done.push({ job, outcome });
  }

  #abandonWaiting(): void {
    // A wait for the source begun before the stop is not worth keeping.
    this.#retryAt = Math.min(this.#retryAt, this.clock.now() + EXCHANGE_BACKOFF.baseMs);
    this.#doomed.clear();
    for (const { job } of this.#mailbox.drain()) this.#complete(job, this.#options.abandon(job));
    for (const running of this.#running.values()) {
      if (running.next) this.#complete(running.next.job, this.#options.abandon(running.next.job));
      delete running.next;
    }
  }

  #abortRunning(): void {
    const reason = this.hurried.aborted ? this.hurried.reason : aborted(`'${this.name}' ended`);
    for (const { controller } of this.#running.values()) controller.abort(reason);
  }
}
