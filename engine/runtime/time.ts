// The only place that may read the clock or set a timer. Everything that waits takes a Clock, so that a test can run an hour in
// a millisecond.

import { setTimeout as sleepFor } from 'node:timers/promises';
import { JoinedSignal } from './joined-signal.ts';

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted before. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `fire` once after `ms` milliseconds; the returned function cancels it. Does not keep the process alive. Events that
   * arrived earlier are handled first. So after a pause of this process, a response that has arrived does not count as late.
   */
  after(ms: number, fire: () => void): () => void;
}

/** Milliseconds since an arbitrary instant, with fractions: for durations below a millisecond. */
export const stopwatch = (): number => performance.now();

/** Longest delay of a Node.js timer. Node.js fires a timer with a longer delay at once. */
const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    try {
      for (let left = ms; left >= 0; left -= LONGEST_MS)
        await sleepFor(Math.min(left, LONGEST_MS), undefined, signal ? { signal } : {});
    } catch (error) {
      // The bare AbortError hides the cause; callers want the reason they aborted with.
      throw signal?.aborted ? signal.reason : error;
    }
  },
  after(ms, fire) {
    let timer: NodeJS.Timeout;
    let turn: NodeJS.Immediate | undefined;
    // After a pause, Node.js runs due timers before it reads what arrived meanwhile, and immediates after that. An unreferenced
    // immediate would wait until something else wakes the process.
    const atLast = (): void => {
      turn = setImmediate(fire);
    };
    const wait = (left: number): void => {
      const step = Math.min(left, LONGEST_MS);
      timer = setTimeout(() => (left > step ? wait(left - step) : atLast()), step).unref();
    };
    wait(ms);
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
    };
  },
};

/** A signal that aborts with `reason()` after `ms`, or with the parent's reason; dispose it when the wait is over. */
export function deadline(
  clock: Clock,
  ms: number,
  parent: AbortSignal | undefined,
  reason: () => Error,
): { readonly signal: AbortSignal; [Symbol.dispose](): void } {
  const joined = new JoinedSignal(parent);
  const cancel = clock.after(ms, () => joined.abort(reason()));
  return {
    signal: joined.signal,
    [Symbol.dispose]: () => {
      cancel();
      joined[Symbol.dispose]();
    },
  };
}
