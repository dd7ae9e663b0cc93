// The jobs that a lane has claimed and not ended: those that wait, and those that run. A job is in one place at a time.
//
//   waiting    in the mailbox
//   running    on a worker
//   duplicate  the same job, claimed again after its lease was lost: it starts when the attempt that runs has ended
//   cancelled  a waiting job or a duplicate that was aborted before it started: it must not start

import { Turns } from '../runtime/fair-share.ts';
import { Mailbox } from './mailbox.ts';

type JobKey = number | string;

export interface Claimed<Job> {
  readonly job: Job;
  readonly at: number;
}

export interface Running<Job> {
  readonly job: Job;
  readonly claimedAt: number;
  readonly controller: AbortController;
  /** The duplicate, if there is one. */
  next?: Claimed<Job>;
}

interface HeldJobsOptions<Job> {
  /** Most jobs that may wait. */
  readonly queueSize: number;
  readonly idOf: (job: Job) => JobKey;
  /** The tenant whose turn it is starts first. Default: jobs start in order of arrival. */
  readonly tenantOf?: (job: Job) => string;
}

export class HeldJobs<Job> {
  readonly #idOf: (job: Job) => JobKey;
  readonly #tenantOf: ((job: Job) => string) | undefined;
  readonly #mailbox: Mailbox<Claimed<Job>>;
  readonly #running = new Map<JobKey, Running<Job>>();
  /** How many jobs of each tenant run. */
  readonly #runningBy = new Map<string, number>();
  readonly #turns = new Turns();
  /** By id, with the reason of the abort. */
  readonly #cancelled = new Map<JobKey, unknown>();

  constructor({ queueSize, idOf, tenantOf }: HeldJobsOptions<Job>) {
    this.#idOf = idOf;
    this.#tenantOf = tenantOf;
    this.#mailbox = new Mailbox(queueSize);
  }

  /** How many wait, without duplicates. */
  get waiting(): number {
    return this.#mailbox.size;
  }

  /** How many may wait. */
  get capacity(): number {
    return this.#mailbox.capacity;
  }

  get running(): number {
    return this.#running.size;
  }

  all(): Job[] {
    const running = [...this.#running.values()].flatMap(({ job, next }) => (next ? [job, next.job] : [job]));
    return [...[...this.#mailbox].map(({ job }) => job), ...running];
  }

  isWaiting(id: JobKey): boolean {
    return !this.#running.has(id) && this.#isInMailbox(id);
  }

  /** Aborts the job if it runs, or keeps it from starting if it waits. False when it is not held. */
  abort(id: JobKey, reason: Error): boolean {
    const running = this.#running.get(id);
    running?.controller.abort(reason);
    const waits = running?.next !== undefined || this.#isInMailbox(id);
    if (waits) this.#cancelled.set(id, reason);
    return running !== undefined || waits;
  }

  abortRunning(reason: unknown): void {
    for (const { controller } of this.#running.values()) controller.abort(reason);
  }

  /** Lets the job wait. False when there is no room. */
  offer(claimed: Claimed<Job>): boolean {
    return this.#mailbox.offer(claimed);
  }

  /** Sets how many may wait. Returns those that no longer fit. */
  resize(queueSize: number): readonly Claimed<Job>[] {
    return this.#mailbox.resize(queueSize);
  }

  /** Takes the next job to start: of the tenant whose turn it is, or the oldest when all jobs are alike. */
  takeNext(): Claimed<Job> | undefined {
    const tenantOf = this.#tenantOf;
    if (!tenantOf || this.waiting < 2) return this.#mailbox.poll();
    return this.#mailbox.pollLowest(({ job }) => {
      const tenant = tenantOf(job);
      return this.#turns.rankOf(tenant, this.#runningBy.get(tenant) ?? 0);
    });
  }

  /** If the job runs, keeps this claim as its duplicate, and returns the earlier duplicate, if any. Undefined if it does not run. */
  keepDuplicate(claimed: Claimed<Job>): { readonly replaced: Job | undefined } | undefined {
    const running = this.#running.get(this.#idOf(claimed.job));
    if (!running) return undefined;
    const replaced = running.next?.job;
    running.next = claimed;
    return { replaced };
  }

  isCancelled(job: Job): boolean {
    return this.#cancelled.has(this.#idOf(job));
  }

  /** Forgets that the job was cancelled, and returns the reason. Undefined when it was not. */
  takeCancellation(job: Job): { readonly reason: unknown } | undefined {
    if (!this.isCancelled(job)) return undefined;
    const id = this.#idOf(job);
    const reason = this.#cancelled.get(id);
    this.#cancelled.delete(id);
    return { reason };
  }

  begin({ job, at }: Claimed<Job>): Running<Job> {
    const running: Running<Job> = { job, claimedAt: at, controller: new AbortController() };
    this.#running.set(this.#idOf(job), running);
    this.#count(job, 1);
    if (this.#tenantOf) this.#turns.began(this.#tenantOf(job));
    return running;
  }

  end({ job }: Running<Job>): void {
    if (this.#running.delete(this.#idOf(job))) this.#count(job, -1);
  }

  /** Takes everything that has not started: nothing of it starts any more. */
  takeUnstarted(): readonly Claimed<Job>[] {
    this.#cancelled.clear();
    const taken = this.#mailbox.drain();
    for (const running of this.#running.values()) {
      if (running.next) taken.push(running.next);
      delete running.next;
    }
    return taken;
  }

  #count(job: Job, change: 1 | -1): void {
    if (!this.#tenantOf) return;
    const tenant = this.#tenantOf(job);
    const count = (this.#runningBy.get(tenant) ?? 0) + change;
    if (count > 0) this.#runningBy.set(tenant, count);
    else this.#runningBy.delete(tenant);
  }

  #isInMailbox(id: JobKey): boolean {
    return [...this.#mailbox].some(({ job }) => this.#idOf(job) === id);
  }
}
