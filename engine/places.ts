// Limits concurrency to a number of places, given out in order of request.

export class Places {
  readonly #size: number;
  readonly #queue = new Set<() => void>();
  taken = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Resolves to a function that gives the place back. */
  take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.taken < this.#size) {
      this.taken++;
      return Promise.resolve(() => this.#free());
    }
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        signal.removeEventListener('abort', abort);
        resolve(() => this.#free());
      };
      const abort = (): void => {
        this.#queue.delete(turn);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#queue.add(turn);
    });
  }

  /** Passes the place to the next one in the queue without freeing it in between. */
  #free(): void {
    const [next] = this.#queue;
    if (!next) this.taken--;
    else {
      this.#queue.delete(next);
      next();
    }
  }
}
