// How many calls a plugin host takes: refused at the door when it is full, then one at a time per dataset and target,
// then a bounded number of scripts at once. Nobody waits longer than allowed.

import { Busy } from '../../engine/runtime/failure.ts';
import { Semaphore } from '../../engine/runtime/semaphore.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';

export interface CallGateLimits {
  /** Scripts at once. */
  readonly maxScripts: number;
  /** Calls at once, with those that wait or send their body. */
  readonly maxCalls: number;
  /** Longest wait for a turn. */
  readonly maxWaitMs: number;
}

export class CallGate {
  readonly #limits: CallGateLimits;
  readonly #clock: Clock;
  readonly #scripts: Semaphore;
  readonly #keys = new Map<string, Semaphore>();
  #calls = 0;

  constructor(limits: CallGateLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#scripts = new Semaphore(limits.maxScripts);
  }

  get calls(): number {
    return this.#calls;
  }

  get scripts(): number {
    return this.#scripts.taken;
  }

  /** Somebody has the key's turn, or waits for it. */
  isTaken(key: string): boolean {
    return this.#keys.has(key);
  }

  /** A place in the house, before the body is read. */
  admit(): Disposable {
    if (this.#calls >= this.#limits.maxCalls) throw new Busy(`${this.#calls} calls are being served already`, 5);
    this.#calls++;
    return once(() => this.#calls--);
  }

  /** The key's turn and a place for a script; fails with {@link Busy} when the wait gets too long. */
  async enter(key: string, signal: AbortSignal): Promise<Disposable> {
    const { maxWaitMs } = this.#limits;
    using wait = deadline(this.#clock, maxWaitMs, signal, () => new Busy(`no free turn within ${maxWaitMs} ms`, 10));
    const turns = this.#keys.get(key) ?? new Semaphore(1);
    this.#keys.set(key, turns);
    const forget = (): void => {
      if (turns.taken === 0 && turns.waiting === 0) this.#keys.delete(key);
    };
    let leave: (() => void) | undefined;
    try {
      leave = await turns.take(wait.signal);
      const free = await this.#scripts.take(wait.signal);
      return once(() => {
        free();
        leave?.();
        forget();
      });
    } catch (error) {
      leave?.();
      forget();
      throw error;
    }
  }
}

function once(free: () => void): Disposable {
  let freed = false;
  return {
    [Symbol.dispose]: () => {
      if (!freed) free();
      freed = true;
    },
  };
}
