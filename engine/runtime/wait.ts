// Waiting for promises with a signal or a time limit. Each wait leaves a reaction attached to the promise until it settles, so
// a loop must wait for a new promise each time.

import type { Clock } from './time.ts';

/** Settles like the promise, or rejects with the signal's reason, whichever happens first. Does not stop the work. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const free = (): void => signal.removeEventListener('abort', abort);
    void promise.finally(free).then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** Waits until the promise settled or `ms` (Infinity: no limit) passed; true when it settled, fulfilled or rejected. */
export function settledWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = Number.isFinite(ms) ? clock.after(ms, () => resolve(false)) : () => {};
    const settled = (): void => {
      cancel();
      resolve(true);
    };
    void promise.then(settled, settled);
  });
}

/** Waits until the promise settled or the signal aborted; true when it settled, fulfilled or rejected. */
export async function settledUnless(promise: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return await unlessAborted(settled, signal).catch(() => false);
}
