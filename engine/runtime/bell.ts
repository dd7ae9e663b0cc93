// Wakes a sleeping loop: a ring before the wait is not lost, and several rings count as one.

import type { Clock } from './time.ts';

export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Rings when any of these signals aborts. */
  ringOn(...signals: readonly AbortSignal[]): void {
    for (const signal of signals) {
      if (signal.aborted) this.ring();
      else signal.addEventListener('abort', () => this.ring(), { once: true });
    }
  }

  /** Waits for a ring, at most `ms` (Infinity: no limit). One waiter at a time. */
  async wait(clock: Clock, ms: number): Promise<void> {
    if (!this.#rung && ms > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = Number.isFinite(ms) ? clock.after(ms, resolve) : () => {};
      await promise;
      cancel();
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}
