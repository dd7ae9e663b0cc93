// Limits the calls of a plugin host. A call is rejected when too many are being served. Then one call runs at a time for each
// dataset and target, and a limited number of scripts run at once. No call waits longer than `maxWaitMs`.

import { Busy } from '../../engine/runtime/failure.ts';
import { Semaphore } from '../../engine/runtime/semaphore.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';

export interface CallGateLimits {
  /** Concurrent scripts. */
  readonly maxScripts: number;
  /** Concurrent calls, including those that wait or whose body is being received. */
  readonly maxCalls: number;
  /** Maximum wait for a turn and a place. */
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

  /** True while a call has the key's turn or waits for it. */
  isTaken(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Takes a place for a call, before its body is read. Throws {@link Busy}. */
  admit(): Disposable {
    if (this.#calls >= this.#limits.maxCalls) throw new Busy(`${this.#calls} calls are being served already`, 5);
    this.#calls++;
    return once(() => this.#calls--);
  }

  /**
   * Takes the key's turn, then a place for a script. Fails with {@link Busy} when that takes too long.
   * @param begin runs as soon as the call has its turn, while it may still wait for a place
   */
  async enter(key: string, signal: AbortSignal, begin?: () => Promise<void>): Promise<Disposable> {
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
      await begin?.();
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
