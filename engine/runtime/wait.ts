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

/** Wakes a loop that waits. A notification before the wait is not lost; several count as one. */
export class Notifier {
  #notified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /** Notifies when any of these signals aborts. Of a signal that lives longer, dispose of the result when the work is over. */
  notifyOn(...signals: readonly AbortSignal[]): Disposable {
    const wake = (): void => this.notify();
    for (const signal of signals) {
      if (signal.aborted) this.notify();
      else signal.addEventListener('abort', wake, { once: true });
    }
    return {
      [Symbol.dispose]: () => {
        for (const signal of signals) signal.removeEventListener('abort', wake);
      },
    };
  }

  /** Waits for a notification, at most `ms` (Infinity: no limit). One waiter at a time. */
  async wait(clock: Clock, ms: number): Promise<void> {
    if (!this.#notified && ms > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = Number.isFinite(ms) ? clock.after(ms, resolve) : () => {};
      await promise;
      cancel();
      this.#wake = undefined;
    }
    this.#notified = false;
  }
}
