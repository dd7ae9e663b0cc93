// Wakes a loop that waits. A notification before the wait is not lost; several count as one.

import type { Clock } from './time.ts';

export class Notifier {
  #notified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /** Notifies when any of these signals aborts. */
  notifyOn(...signals: readonly AbortSignal[]): void {
    for (const signal of signals) {
      if (signal.aborted) this.notify();
      else signal.addEventListener('abort', () => this.notify(), { once: true });
    }
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
