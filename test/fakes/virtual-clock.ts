// A clock that stands still until it is advanced. Timers fire in the order of their due time, those of one instant in
// the order they were set, and everything a timer sets off settles before the next one fires: the same program gives
// the same history every time.

import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../engine/runtime/time.ts';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

export class VirtualClock implements Clock {
  #now: number;
  /** Sorted by `at`; equal instants in the order they were set. */
  readonly #timers: Timer[] = [];

  /** Starts at `now`, by default 2026-01-01T00:00:00Z. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, fire: () => void): () => void {
    // Like setTimeout: never in the same turn, and NaN or less than nothing is at once.
    const timer = { at: this.#now + Math.max(0, ms || 0), fire };
    this.#timers.splice(this.#placeOf(timer.at), 0, timer);
    return () => {
      const place = this.#timers.indexOf(timer);
      if (place >= 0) this.#timers.splice(place, 1);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Moves on by `ms`, firing what becomes due on the way, timers set meanwhile included. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    for (let next = this.#timers[0]; next && next.at <= until; next = this.#timers[0]) await this.#fire(next);
    this.#now = until;
  }

  /** Moves on to the next timer and fires it; false when there is none. */
  async advanceToNext(): Promise<boolean> {
    await this.settle();
    const next = this.#timers[0];
    if (next) await this.#fire(next);
    return next !== undefined;
  }

  /** Lets every promise that can go on do so; no time passes. */
  async settle(): Promise<void> {
    await turn();
  }

  /** Milliseconds until the next timer; undefined when none is set. */
  get untilNext(): number | undefined {
    const next = this.#timers[0];
    return next && Math.max(0, next.at - this.#now);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }

  async #fire(timer: Timer): Promise<void> {
    this.#timers.shift();
    this.#now = Math.max(this.#now, timer.at);
    timer.fire();
    await this.settle();
  }

  #placeOf(at: number): number {
    const place = this.#timers.findIndex((timer) => timer.at > at);
    return place < 0 ? this.#timers.length : place;
  }
}

/** Sleeps by the timers of a clock: it differs from the next one in when they fire, not in how a sleeper waits. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
