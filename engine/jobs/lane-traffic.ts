// Tracks what a lane has to exchange with its source, what is under way, and when the next exchange is due. Sends nothing
// itself.
//
//   one at a time         as soon as there are outcomes, or jobs to claim while the mailbox is less than half full; when it is
//                         fuller, outcomes are collected for a while
//   a second in parallel  only when the last claim found plenty and enough jobs have ended since to make it worthwhile
//   after a failure       none before a growing delay; the outcomes of the failed exchange go first

import { Backoff, DELAYS } from '../runtime/retry.ts';
import type { Completion, LaneOptions } from './lane-options.ts';

type TrafficOptions = Pick<LaneOptions<never, never>, 'pollMs' | 'flushMs' | 'anotherAt'>;

/** An exchange under way. */
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

/**
 * At thousands of jobs a second, half a mailbox collects in this time, so an exchange carries many. A long job does not notice
 * it.
 */
const FLUSH_MS = 25;
/** Maximum number of concurrent exchanges: the source works on one while the other travels. */
const UNDER_WAY = 2;
const ANOTHER_AT = 16;

export class LaneTraffic<Job, Outcome> {
  readonly #options: TrafficOptions;
  readonly #backoff = new Backoff(DELAYS.database);
  readonly #sent = new Set<Sent<Job, Outcome>>();
  #done: Completion<Job, Outcome>[] = [];
  #mayHaveJobs = true;
  /** The last claim brought as many jobs as it asked for. */
  #findsPlenty = false;
  #pollAt = 0;
  #flushAt = 0;
  #retryAt = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Outcomes that are not written yet, including those under way. */
  get unwritten(): readonly Completion<Job, Outcome>[] {
    return [...[...this.#sent].flatMap(({ done }) => done), ...this.#done];
  }

  /** Exchanges under way. */
  get underWay(): number {
    return this.#sent.size;
  }

  get isIdle(): boolean {
    return this.#done.length + this.#sent.size === 0;
  }

  /** True when the last exchange that was answered has failed. */
  get isFailing(): boolean {
    return this.#backoff.failures > 0;
  }

  /** Notes that there may be jobs to claim. */
  wake(): void {
    this.#mayHaveJobs = true;
  }

  add(completion: Completion<Job, Outcome>, now: number): void {
    if (this.#done.length === 0) this.#flushAt = now + (this.#options.flushMs ?? FLUSH_MS);
    this.#done.push(completion);
  }

  /** Milliseconds until the next exchange is due; 0 = now, Infinity = not before something happens. */
  dueIn(now: number, places: LanePlaces): number {
    if (this.#sent.size > 0) return this.#isAnotherDue(places) ? 0 : Number.POSITIVE_INFINITY;
    const low = places.depth * 2 < places.capacity;
    const flushIn = this.#done.length === 0 ? Number.POSITIVE_INFINITY : low ? 0 : this.#flushAt - now;
    const claimIn = !low || places.free === 0 ? Number.POSITIVE_INFINITY : this.#mayHaveJobs ? 0 : this.#pollAt - now;
    return Math.max(0, this.#retryAt - now, Math.min(flushIn, claimIn));
  }

  /** Takes what there is to send in an exchange now. */
  send(now: number, places: LanePlaces): Sent<Job, Outcome> {
    const limit = this.#mayHaveJobs || this.#findsPlenty || now >= this.#pollAt ? this.#room(places) : 0;
    if (limit > 0) {
      // Cleared before the call: a wake during the call must not be forgotten.
      this.#mayHaveJobs = false;
      this.#pollAt = now + this.#options.pollMs;
    }
    const sent = { done: this.#done, limit };
    this.#done = [];
    this.#sent.add(sent);
    return sent;
  }

  succeeded(sent: Sent<Job, Outcome>, claimed: number): void {
    this.#sent.delete(sent);
    if (this.isFailing) this.#retryAt = 0;
    this.#backoff.succeeded();
    if (sent.limit > 0) this.#findsPlenty = claimed >= sent.limit;
    if (this.#findsPlenty) this.#mayHaveJobs = true;
  }

  /** The next exchange waits for the back-off of consecutive failures; `soon`: for the shortest delay. */
  failed(sent: Sent<Job, Outcome>, now: number, soon: boolean): void {
    this.#sent.delete(sent);
    this.#done = [...sent.done, ...this.#done];
    if (sent.limit > 0) this.#mayHaveJobs = true;
    this.#findsPlenty = false;
    const delayMs = this.#backoff.failed();
    this.#retryAt = now + (soon ? DELAYS.database.baseMs : delayMs);
  }

  /** From now on a back-off lasts no longer than the shortest delay. */
  hurry(now: number): void {
    this.#retryAt = Math.min(this.#retryAt, now + DELAYS.database.baseMs);
  }

  #isAnotherDue(places: LanePlaces): boolean {
    if (!this.#findsPlenty || this.#sent.size >= UNDER_WAY) return false;
    return this.#room(places) >= (this.#options.anotherAt ?? Math.max(ANOTHER_AT, places.capacity / 2));
  }

  /** Exchanges under way may bring jobs, too. */
  #room({ free }: LanePlaces): number {
    let room = free;
    for (const { limit } of this.#sent) room -= limit;
    return Math.max(0, room);
  }
}
