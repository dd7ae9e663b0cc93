// One task from run() to its answer: waits in its crew, is worked on in a seat, is answered once.

import type { Watched } from './abort-watch.ts';
import type { ThreadSeat } from './thread-seat.ts';

export interface TaskHome {
  /** The task's signal aborted. */
  cancel(task: ThreadTask, reason: unknown): void;
  answered(task: ThreadTask): void;
}

export class ThreadTask implements EventListenerObject, Watched {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
  readonly answer: Promise<unknown>;
  /** Where it is worked on; undefined while it waits. */
  seat: ThreadSeat | undefined;
  /** Its number there. */
  slot = -1;
  /** Why it was cancelled; answered with this unless it finishes all the same. */
  cancelled: { readonly reason: unknown } | undefined;
  readonly #home: TaskHome;
  readonly #signal: AbortSignal;
  readonly #settle: PromiseWithResolvers<unknown>;
  #listening = false;
  #answered = false;

  /** `signal` must not be aborted yet. */
  constructor(id: number, name: string, input: unknown, home: TaskHome, signal: AbortSignal) {
    this.id = id;
    this.name = name;
    this.input = input;
    this.#home = home;
    this.#signal = signal;
    this.#settle = Promise.withResolvers();
    this.answer = this.#settle.promise;
  }

  /** True when it is to be cancelled, whether it has been told or not. */
  get aborted(): boolean {
    return this.#signal.aborted;
  }

  get over(): boolean {
    return this.#answered;
  }

  look(): void {
    if (!this.#answered && this.#signal.aborted) this.handleEvent();
  }

  listen(): void {
    if (this.#answered) return;
    if (this.#signal.aborted) this.handleEvent();
    else this.#signal.addEventListener('abort', this, { once: true });
    this.#listening = true;
  }

  handleEvent(): void {
    this.#home.cancel(this, this.#signal.reason);
  }

  resolve(output: unknown): void {
    this.#end();
    this.#settle.resolve(output);
  }

  reject(error: unknown): void {
    this.#end();
    this.#settle.reject(error);
  }

  #end(): void {
    this.#answered = true;
    if (this.#listening) this.#signal.removeEventListener('abort', this);
    this.seat = undefined;
    this.#home.answered(this);
  }
}
