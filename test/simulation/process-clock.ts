// The clock as one process sees it. A process that stands still hears of no timer until it goes on; one that is dead
// never does.

import type { Clock } from '../../engine/runtime/time.ts';
import { sleepOn } from '../fakes/virtual-clock.ts';

export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #cancels = new Set<() => void>();
  #missed: (() => void)[] | undefined;
  #dead = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  after(ms: number, fire: () => void): () => void {
    if (this.#dead) return () => {};
    let cancelled = false;
    const cancelTimer = this.#clock.after(ms, () => {
      this.#cancels.delete(cancelTimer);
      if (cancelled || this.#dead) return;
      if (this.#missed) this.#missed.push(() => (cancelled ? undefined : fire()));
      else fire();
    });
    this.#cancels.add(cancelTimer);
    return () => {
      cancelled = true;
      this.#cancels.delete(cancelTimer);
      cancelTimer();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  stall(): void {
    this.#missed ??= [];
  }

  /** What fell due meanwhile fires now, in order. */
  goOn(): void {
    const missed = this.#missed ?? [];
    this.#missed = undefined;
    for (const fire of missed) fire();
  }

  kill(): void {
    this.#dead = true;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }
}
