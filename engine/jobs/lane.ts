// A lane: claims jobs from a source in batches, runs a bounded number of them, and writes their outcomes back.
//
// A claimed job      waits in the mailbox, then runs on one of `workerCount` workers (held-jobs.ts)
//   run resolves     its outcome waits to be written
//   run rejects      `settle` turns the error (the abort's reason when we aborted it) into an outcome
//   not started      at stop, `abandon` provides the outcome
// One call to the source writes outcomes and claims new jobs; there is one call at a time. The outcomes of jobs that end during
// a call are sent with the next one (group commit, lane-traffic.ts). After a failed call the lane backs off and keeps the
// outcomes. They cannot pile up, because nothing is claimed without a call.
//   resize  with fewer workers, running jobs continue to their end; waiting jobs that no longer fit are given back
//   quiet   nothing more is claimed     stop   see Actor; outcomes are still written     kill   no outcomes are written

import { Actor } from '../runtime/actor.ts';
import { aborted, kindOf, messageOf } from '../runtime/failure.ts';
import { Notifier } from '../runtime/wait.ts';
import { type Claimed, HeldJobs, type Running } from './held-jobs.ts';
import { IdleWaits } from './idle-waits.ts';
import {
  type LaneBounds,
  type LaneMetrics,
  type LaneOptions,
  type LaneOutcome,
  type LaneSizes,
  laneMetrics,
} from './lane-options.ts';
import { type LanePlaces, LaneTraffic, type Sent } from './lane-traffic.ts';

export class Lane<Job, Outcome extends LaneOutcome> extends Actor {
  readonly #options: LaneOptions<Job, Outcome>;
  readonly #jobs: HeldJobs<Job>;
  readonly #notifier = new Notifier();
  readonly #metrics: LaneMetrics;
  readonly #traffic: LaneTraffic<Job, Outcome>;
  #workers: number;
  /** Idle workers that are kept for jobs which come without a claim. */
  #reserved = 0;
  #works = false;
  readonly #idle = new IdleWaits();
  #fault: { readonly error: unknown } | undefined;

  constructor(options: LaneOptions<Job, Outcome>) {
    super(options);
    this.#options = options;
    this.#jobs = new HeldJobs(options);
    this.#workers = options.workerCount;
    this.#traffic = new LaneTraffic(options);
    this.#metrics = laneMetrics(options.metrics, options.name);
    this.#notifier.notifyOn(this.draining, this.stopping, this.ended);
    this.hurried.addEventListener('abort', () => this.#abortRunning(), { once: true });
  }

  get sizes(): LaneSizes {
    return {
      depth: this.#jobs.waiting,
      capacity: this.#jobs.capacity,
      inFlight: this.#jobs.running,
      workers: this.#workers,
      unwritten: this.#traffic.unwritten.length,
    };
  }

  /** All claimed jobs whose outcomes are not written yet. Their leases must be renewed. */
  held(): Job[] {
    return [...this.#jobs.all(), ...this.#traffic.unwritten.map(({ job }) => job)];
  }

  /** True while the job waits for a worker. */
  isWaiting(id: number | string): boolean {
    return this.#jobs.isWaiting(id);
  }

  /** Aborts the job if it runs, or keeps it from starting if it waits. False when the lane has no such job. */
  abortJob(id: number | string, reason: Error): boolean {
    return this.#jobs.abort(id, reason);
  }

  /** May be called at any time. No job is lost, aborted or started twice. With more workers, waiting jobs start at once. */
  resize({ queueSize, workerCount }: LaneBounds): void {
    this.#workers = workerCount;
    this.#noteFree();
    if (!this.stopping.aborted) this.#beginWaiting();
    for (const claimed of this.#jobs.resize(queueSize)) this.#giveBack(claimed);
    this.#traffic.wake();
    this.#notifier.notify();
  }

  /** Keeps an idle worker for a job that comes without a claim. False when there is none, or when jobs wait for it. */
  reserve(): boolean {
    const waits = this.#jobs.waiting > 0 || this.#traffic.expectsJobs;
    if (!this.#works || this.draining.aborted || waits) return false;
    if (this.#jobs.running + this.#reserved >= this.#workers) return false;
    this.#reserved++;
    return true;
  }

  /** Ends a reservation. False when the lane does not take the job any more. */
  fill(job: Job | undefined): boolean {
    this.#reserved--;
    this.#notifier.notify();
    if (job === undefined || !this.#works || this.draining.aborted) return false;
    this.#metrics.claimed(1);
    this.#admit({ job, at: this.clock.now() });
    return true;
  }

  protected override async open(): Promise<void> {}

  protected override async work(): Promise<void> {
    using cleanup = new DisposableStack();
    cleanup.defer(this.#options.metrics.onScrape(() => this.#metrics.show(this.sizes)));
    cleanup.defer(() => this.#leave());
    const wake = (): void => {
      this.#traffic.wake();
      this.#notifier.notify();
    };
    cleanup.defer(this.#options.source.watch(wake));
    this.#noteFree();
    this.#works = true;
    while (!this.#fault && !this.#finished()) {
      if (this.stopping.aborted) this.#abandonWaiting();
      const wait = this.#traffic.dueIn(this.clock.now(), this.#places);
      if (wait === 0) void this.#completeAndFetch();
      else await this.#notifier.wait(this.clock, wait);
    }
    // The call has the source's own deadline; a stop or kill of the lane waits no longer than its own deadline.
    while (this.#traffic.isUnderWay) await this.#notifier.wait(this.clock, Number.POSITIVE_INFINITY);
    if (this.#fault) throw this.#fault.error;
  }

  #leave(): void {
    this.#works = false;
    const lost = this.held().length;
    if (lost > 0) this.log.warn({ lane: this.name, lost }, 'stopped with jobs whose outcome was not written');
    this.#abortRunning();
    this.#metrics.show({ depth: 0, capacity: 0, inFlight: 0, workers: 0, unwritten: 0 });
  }

  #finished(): boolean {
    if (this.ended.aborted) return true;
    return this.draining.aborted && this.#jobs.waiting + this.#jobs.running === 0 && this.#traffic.isIdle;
  }

  get #places(): LanePlaces {
    const { waiting, running, capacity } = this.#jobs;
    const idle = Math.max(0, this.#workers - running - this.#reserved);
    const takes = !this.draining.aborted && (idle > 0 || this.#options.source.waitsForWorker?.() !== true);
    return { free: takes ? Math.max(0, idle + capacity - waiting) : 0, depth: waiting, capacity };
  }

  /** Never rejects. */
  async #completeAndFetch(): Promise<void> {
    const sent = this.#traffic.send(this.clock.now(), this.#places);
    const { source, waitedMs } = this.#options;
    const skipped = source.skips?.() ?? false;
    try {
      const jobs = await source.completeAndFetch(sent.done, sent.limit, this.ended);
      if (this.#traffic.isFailing) this.log.info({ lane: this.name }, 'job source works again');
      this.#traffic.succeeded();
      // Jobs that the claim before skipped on purpose do not count.
      if (!skipped) for (const ms of this.#idle.ofJobs(jobs, waitedMs, this.clock.now())) this.#metrics.idled(ms);
      this.#fetched(jobs);
    } catch (error) {
      this.#fetchFailed(sent, error);
    }
    this.#notifier.notify();
  }

  #noteFree(): void {
    this.#idle.note(this.#jobs.running < this.#workers, this.clock.now());
  }

  #fetched(jobs: readonly Job[]): void {
    this.#metrics.fetched('ok');
    const { accepts = () => true } = this.#options;
    this.#metrics.claimed(jobs.filter(accepts).length);
    const at = this.clock.now();
    for (const job of jobs)
      if (accepts(job)) this.#receive({ job, at });
      else this.#complete(job, this.#options.abandon(job));
  }

  #receive(claimed: Claimed<Job>): void {
    if (this.stopping.aborted) this.#complete(claimed.job, this.#options.abandon(claimed.job));
    else this.#admit(claimed);
  }

  #admit(claimed: Claimed<Job>): void {
    if (this.#jobs.running < this.#workers) this.#place(claimed);
    else if (!this.#jobs.offer(claimed)) this.#giveBack(claimed);
  }

  /** Gives back a waiting job that will not start here: with the reason of its abort, or for any process to claim. */
  #giveBack({ job }: Claimed<Job>): void {
    const cancelled = this.#jobs.takeCancellation(job);
    this.#complete(job, cancelled ? this.#settle(cancelled.reason, job) : this.#options.abandon(job));
  }

  #fetchFailed(sent: Sent<Job, Outcome>, error: unknown): void {
    this.#metrics.fetched('failed');
    const first = !this.#traffic.isFailing;
    // While stopping, back-off delays are short, because little time is left before the deadline.
    this.#traffic.failed(sent, this.clock.now(), this.stopping.aborted);
    if (!first || this.ended.aborted) return;
    const fields = { lane: this.name, err: messageOf(error), unwritten: this.#traffic.unwritten.length };
    const kind = kindOf(error);
    this.log[kind === 'defect' ? 'error' : 'warn']({ ...fields, kind }, 'job source failed; retrying');
  }

  #place(claimed: Claimed<Job>): void {
    const duplicate = this.#jobs.keepDuplicate(claimed);
    if (duplicate) {
      if (duplicate.replaced !== undefined)
        this.#complete(duplicate.replaced, this.#options.abandon(duplicate.replaced));
      return;
    }
    if (this.#jobs.isCancelled(claimed.job)) {
      this.#giveBack(claimed);
      return;
    }
    const running = this.#jobs.begin(claimed);
    this.#noteFree();
    void this.#perform(running);
  }

  /** Never rejects. */
  async #perform(running: Running<Job>): Promise<void> {
    const { job, claimedAt, controller } = running;
    const begun = this.clock.now();
    this.#metrics.started(begun - claimedAt + (this.#options.waitedMs?.(job) ?? 0));
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#options.run(job, controller.signal);
    } catch (error) {
      // If we aborted the job, its error may be any; the abort's reason counts.
      outcome = this.#settle(controller.signal.aborted ? controller.signal.reason : error, job);
    }
    this.#jobs.end(running);
    this.#noteFree();
    if (this.#options.source.heldBack?.()) this.#traffic.wake();
    this.#complete(job, outcome, this.clock.now() - begun);
    if (running.next) this.#receive(running.next);
    if (!this.stopping.aborted) this.#beginWaiting();
    this.#notifier.notify();
  }

  #beginWaiting(): void {
    while (this.#jobs.running < this.#workers) {
      const claimed = this.#jobs.takeNext();
      if (!claimed) break;
      this.#place(claimed);
    }
  }

  #settle(error: unknown, job: Job): Outcome | undefined {
    try {
      return this.#options.settle(error, job);
    } catch (fault) {
      // Without an outcome, the job would be held forever. So the lane crashes, and the lease expires.
      this.#fault = { error: fault };
      return undefined;
    }
  }

  #complete(job: Job, outcome: Outcome | undefined, ranMs?: number): void {
    if (outcome === undefined) return;
    this.#metrics.finished(outcome, ranMs);
    this.#traffic.add({ job, outcome }, this.clock.now());
  }

  #abandonWaiting(): void {
    // Shortens a back-off delay that began before the stop.
    this.#traffic.hurry(this.clock.now());
    for (const { job } of this.#jobs.takeUnstarted()) this.#complete(job, this.#options.abandon(job));
  }

  #abortRunning(): void {
    const reason = this.hurried.aborted ? this.hurried.reason : aborted(`'${this.name}' ended`);
    this.#jobs.abortRunning(reason);
  }
}
