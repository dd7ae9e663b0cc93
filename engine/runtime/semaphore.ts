// Limits concurrency to a number of places. Waiters of one tenant get places in the order of their requests. Among tenants, the
// turn it is comes first (fair-share.ts).

import { Turns } from './fair-share.ts';

interface Waiter {
  readonly tenant: string;
  readonly start: () => void;
}

export class Semaphore {
  readonly #size: number;
  readonly #queue = new Set<Waiter>();
  readonly #turns = new Turns();
  /** Places that each tenant holds. */
  readonly #held = new Map<string, number>();
  taken = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Waits for a place. Resolves to a function that gives it back.
   * @param tenant who takes the place; without tenants, all wait in one queue
   */
  take(signal: AbortSignal, tenant = ''): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.taken < this.#size) {
      this.taken++;
      return Promise.resolve(this.#hold(tenant));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        tenant,
        start: () => {
          signal.removeEventListener('abort', abort);
          resolve(this.#hold(tenant));
        },
      };
      const abort = (): void => {
        this.#queue.delete(waiter);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#queue.add(waiter);
    });
  }

  #hold(tenant: string): () => void {
    this.#turns.began(tenant);
    this.#held.set(tenant, this.#heldBy(tenant) + 1);
    return () => {
      const left = this.#heldBy(tenant) - 1;
      if (left > 0) this.#held.set(tenant, left);
      else this.#held.delete(tenant);
      this.#free();
    };
  }

  #heldBy(tenant: string): number {
    return this.#held.get(tenant) ?? 0;
  }

  /** Passes the place to the next waiter without freeing it in between. */
  #free(): void {
    const next = this.#next();
    if (!next) this.taken--;
    else {
      this.#queue.delete(next);
      next.start();
    }
  }

  /** The first waiter of the tenant whose turn it is. Takes linear time: there are at most as many waiters as connections. */
  #next(): Waiter | undefined {
    let first: Waiter | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const waiter of this.#queue) {
      const rank = this.#turns.rankOf(waiter.tenant, this.#heldBy(waiter.tenant));
      if (rank >= lowest) continue;
      first = waiter;
      lowest = rank;
    }
    return first;
  }
}
