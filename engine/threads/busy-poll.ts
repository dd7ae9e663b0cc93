// Busy polling between threads. When small messages are answered within microseconds, sleeping costs more than polling: an idle
// core takes longer to wake than a small task takes to run. So after a send each side of a port keeps its event loop turning
// for a moment, if the last answer came that quickly. All other work of the loop goes on meanwhile. After one moment without an
// answer it sleeps as usual.

import { stopwatch } from '../runtime/time.ts';

/** About the time to wake the other side and be woken by it. */
const MOMENT_MS = 0.1;
/** After more than this sent at once, the other side is busy for longer than it takes to wake. */
const LITTLE = 16;

export class BusyPoll {
  /** When something was last sent or received. */
  #at = Number.NEGATIVE_INFINITY;
  #isAwaited = false;
  #isClose = false;
  #isTurning = false;

  /** True when the last answer came within a moment of the send, and a message crossed within the last moment. */
  get isBusy(): boolean {
    return this.#isClose && stopwatch() - this.#at <= MOMENT_MS;
  }

  /** Records that `count` tasks, or answers, were sent. */
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
