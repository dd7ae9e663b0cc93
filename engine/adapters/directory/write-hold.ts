// Holds every change of a directory store, so that a backup sees the state of one instant.
//
//   open     changes enter and leave
//   closing  changes that entered go on; new ones wait
//   held     nothing changes; new changes wait
//   closing or held -> open: by release(), or when the time is over, in case the backup was killed

import type { StoreHold } from '../../ports/object-store.ts';
import { Busy } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';

interface Closed {
  readonly until: number;
  readonly opened: PromiseWithResolvers<void>;
  /** Resolves when the last change that had entered has left. */
  readonly quiet: PromiseWithResolvers<void>;
  readonly cancelAlarm: () => void;
}

export class WriteHold implements StoreHold {
  readonly #clock: Clock;
  #inside = 0;
  #closed: Closed | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits while the store is held. Dispose of the result once the change is made or given up. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    while (this.#closed) await unlessAborted(this.#closed.opened.promise, signal);
    this.#inside++;
    return {
      [Symbol.dispose]: () => {
        this.#inside--;
        if (this.#inside === 0) this.#closed?.quiet.resolve();
      },
    };
  }

  async hold(ms: number, signal: AbortSignal): Promise<Date> {
    const now = this.#clock.now();
    if (this.#closed) {
      const seconds = Math.max(1, Math.ceil((this.#closed.until - now) / 1_000));
      throw new Busy('the object store is held already; is another backup running?', seconds);
    }
    const closed: Closed = {
      until: now + ms,
      opened: Promise.withResolvers(),
      quiet: Promise.withResolvers(),
      cancelAlarm: this.#clock.after(ms, () => this.#open(closed)),
    };
    this.#closed = closed;
    if (this.#inside === 0) closed.quiet.resolve();
    try {
      await unlessAborted(Promise.race([closed.quiet.promise, closed.opened.promise]), signal);
      if (this.#closed !== closed) throw new Busy('changes of the object store took longer than it may be held', 1);
      return new Date(closed.until);
    } catch (error) {
      this.#open(closed);
      throw error;
    }
  }

  release(): boolean {
    const closed = this.#closed;
    if (closed) this.#open(closed);
    return closed !== undefined;
  }

  #open(closed: Closed): void {
    if (this.#closed !== closed) return;
    this.#closed = undefined;
    closed.cancelAlarm();
    closed.opened.resolve();
  }
}
