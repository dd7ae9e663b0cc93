// Delivers orders to a daemon from outside of the supervision tree. The supervisor may restart the timer; orders go to the
// newest one.

import type { OrderAnswer } from '../../engine/ports/process-control.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { Run, Timer } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

export class DaemonOrders<Result> {
  readonly #name: string;
  #timer: Timer<Result> | undefined;
  /** How many runs are in progress or ordered. */
  #busy = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Sends orders to this timer from now on. */
  attach(timer: Timer<Result>): Timer<Result> {
    this.#timer = timer;
    return timer;
  }

  /** Wraps whatever the timer runs, so that an order during the run learns that one is in progress. */
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

  /** Resolves as soon as the run starts; the signal cancels only the wait for that. `transient` while no timer is attached. */
  async order(run: Run<Result>, signal: AbortSignal): Promise<OrderAnswer> {
    if (this.#busy > 0) return 'running';
    if (!this.#timer) throw transient(`daemon '${this.#name}' is not running yet`);
    const answer = Promise.withResolvers<OrderAnswer>();
    const begin: Run<Result> = (until) => {
      answer.resolve('started');
      return this.counted(run)(until);
    };
    this.#busy++;
    const told = this.#timer.runNow(new AbortController().signal, begin).then(
      ({ kind }) => answer.resolve(kind === 'not-leader' ? 'elsewhere' : 'started'),
      // If the run had already started, the timer has logged its failure.
      (error: unknown) => answer.reject(error),
    );
    void told.finally(() => this.#busy--);
    return unlessAborted(answer.promise, signal);
  }
}
