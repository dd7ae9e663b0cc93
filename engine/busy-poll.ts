// Whoever has sent a little and is answered within microseconds, time after time, loses more by going to sleep than by
// waiting awake: a core that has gone idle takes longer to wake than small tasks take to do. So the event loop of each side of
// a port goes on turning for a moment after it has sent, if the last answer came within such a moment; all else that it has
// to do is done meanwhile. One moment without an answer, and it sleeps again as it used to.

import { stopwatch } from './time.ts';

/** About what it takes to wake the other side and to be woken by it. */
const MOMENT_MS = 0.1;
/** With more than this sent at once the other side is busy for longer than it takes to wake. */
const LITTLE = 16;

export class BusyPoll {
  /** Of what was sent or received last. */
  #at = Number.NEGATIVE_INFINITY;
  #isAwaited = false;
  #isClose = false;
  #isTurning = false;

  /** Something has crossed within a moment, as before it. */
  get isBusy(): boolean {
    return this.#isClose && stopwatch() - this.#at <= MOMENT_MS;
  }

  /** So many tasks were sent, or answers. */
  sent(count: number): void {
    if (count > LITTLE) return;
    this.#at = stopwatch();
    this.#isAwaited = true;
    if (!this.#isClose || this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#turn);
  }

  received(): void {
    const now = stopwatch();
    this.#isClose = this.#isAwaited && now - this.#at <= MOMENT_MS;
    this.#isAwaited = false;
    this.#at = now;
  }

  readonly #turn = (): void => {
    this.#isTurning = this.#isAwaited && this.isBusy;
    if (this.#isTurning) setImmediate(this.#turn);
  };
}
