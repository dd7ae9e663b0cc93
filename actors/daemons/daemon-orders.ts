// Orders to a daemon from outside of the tree: its timer may be made anew by the supervisor, the orders go to the newest.

import type { OrderAnswer } from '../../engine/ports/process-control.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { Run, Timer } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

export class DaemonOrders<Result> {
  readonly #name: string;
  #timer: Timer<Result> | undefined;
  /** A run is under way, or was asked for. */
  #busy = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Sends orders to this timer from now on. */
  attach(timer: Timer<Result>): Timer<Result> {
    this.#timer = timer;
    return timer;
  }

  /** Wrap whatever the timer runs, so that an order meanwhile is told that one is under way. */
  counted(run: Run<Result>): Run<Result> {
    return async (signal) => {
      this.#busy++;
      try {
        return await run(signal);
      } finally {
        this.#busy--;
      }
    };
  }

  /** Answers as soon as the run begins; the signal ends the wait for that. `transient` while the daemon is not there. */
  async order(run: Run<Result>, signal: AbortSignal): Promise<OrderAnswer> {
    if (this.#busy > 0) return 'running';
    if (!this.#timer) throw transient(`daemon '${this.#name}' does not run yet`);
    const answer = Promise.withResolvers<OrderAnswer>();
    const begin: Run<Result> = (until) => {
      answer.resolve('started');
      return this.counted(run)(until);
    };
    this.#busy++;
    const told = this.#timer.runNow(new AbortController().signal, begin).then(
      ({ kind }) => answer.resolve(kind === 'not-leader' ? 'elsewhere' : 'started'),
      // Of a run that began, the timer has told the log.
      (error: unknown) => answer.reject(error),
    );
    void told.finally(() => this.#busy--);
    return unlessAborted(answer.promise, signal);
  }
}
