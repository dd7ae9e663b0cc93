// Tracks what a lane has to send to its source, what is under way, and when the next call is due. It makes no calls itself.
//
//   one call at a time    due when there are outcomes, or jobs to claim, while the mailbox is less than half full. When it is
//                         fuller, outcomes are collected for a while.
//   after a failure       the next call waits for a growing back-off; it sends the outcomes of the failed call first

import { Backoff, DELAYS } from '../runtime/retry.ts';
import type { Completion, LaneOptions } from './lane-options.ts';

type TrafficOptions = Pick<LaneOptions<never, never>, 'pollMs' | 'flushMs'>;

/** A call under way. */
export interface Sent<Job, Outcome> {
  readonly done: readonly Completion<Job, Outcome>[];
  /** Maximum number of jobs to claim. */
  readonly limit: number;
}

/** How much room a lane has. */
export interface LanePlaces {
  /** Jobs that the lane could take if nothing were under way. */
  readonly free: number;
  /** Jobs that wait in the mailbox. */
  readonly depth: number;
  /** Jobs that may wait in the mailbox. */
  readonly capacity: number;
}

/** Long enough to collect the outcomes of many short jobs in one call, and short compared with a long job. */
const FLUSH_MS = 25;

export class LaneTraffic<Job, Outcome> {
  readonly #options: TrafficOptions;
  readonly #backoff = new Backoff(DELAYS.database);
  #sent: Sent<Job, Outcome> | undefined;
  #done: Completion<Job, Outcome>[] = [];
  #mayHaveJobs = true;
  #pollAt = 0;
  #flushAt = 0;
  #retryAt = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Outcomes that are not written yet, including those under way. */
  get unwritten(): readonly Completion<Job, Outcome>[] {
    return [...(this.#sent?.done ?? []), ...this.#done];
  }

  get isUnderWay(): boolean {
    return this.#sent !== undefined;
  }

  get isIdle(): boolean {
    return this.#done.length === 0 && !this.#sent;
  }

  /** True when the last call has failed. */
  get isFailing(): boolean {
    return this.#backoff.failures > 0;
  }

  /** True when jobs may wait to be claimed, or are being claimed. */
  get expectsJobs(): boolean {
    return this.#mayHaveJobs || (this.#sent?.limit ?? 0) > 0;
  }

  /** Notes that there may be jobs to claim. */
  wake(): void {
    this.#mayHaveJobs = true;
  }

  add(completion: Completion<Job, Outcome>, now: number): void {
    if (this.#done.length === 0) this.#flushAt = now + (this.#options.flushMs ?? FLUSH_MS);
    this.#done.push(completion);
  }

  /** Milliseconds until the next call is due; 0 = now, Infinity = not before something happens. */
  dueIn(now: number, places: LanePlaces): number {
    if (this.#sent) return Number.POSITIVE_INFINITY;
    const low = places.depth * 2 < places.capacity;
    const flushIn = this.#done.length === 0 ? Number.POSITIVE_INFINITY : low ? 0 : this.#flushAt - now;
    const claimIn = !low || places.free === 0 ? Number.POSITIVE_INFINITY : this.#mayHaveJobs ? 0 : this.#pollAt - now;
    return Math.max(0, this.#retryAt - now, Math.min(flushIn, claimIn));
  }

  /** Starts a call: returns what to send now. */
  send(now: number, { free }: LanePlaces): Sent<Job, Outcome> {
    const limit = this.#mayHaveJobs || now >= this.#pollAt ? free : 0;
    if (limit > 0) {
      // Cleared before the call, so that a wake-up during the call is not lost.
      this.#mayHaveJobs = false;
      this.#pollAt = now + this.#options.pollMs;
    }
    this.#sent = { done: this.#done, limit };
    this.#done = [];
    return this.#sent;
  }

  succeeded(): void {
    this.#sent = undefined;
    if (this.isFailing) this.#retryAt = 0;
    this.#backoff.succeeded();
  }

  /** The next call waits for the back-off of consecutive failures or, with `soon`, for the shortest delay. */
  failed(sent: Sent<Job, Outcome>, now: number, soon: boolean): void {
    this.#sent = undefined;
    this.#done = [...sent.done, ...this.#done];
    if (sent.limit > 0) this.#mayHaveJobs = true;
    const delayMs = this.#backoff.failed();
    this.#retryAt = now + (soon ? DELAYS.database.baseMs : delayMs);
  }

  /** From now on a back-off lasts no longer than the shortest delay. */
  hurry(now: number): void {
    this.#retryAt = Math.min(this.#retryAt, now + DELAYS.database.baseMs);
  }
}
