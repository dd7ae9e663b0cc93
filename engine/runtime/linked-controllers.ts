// Aborts many short-lived controllers with one signal, through a single listener. With a listener for each controller, removing
// one would search through all others. For a small request, that costs more than everything else about its signal.

export class LinkedControllers {
  readonly #signal: AbortSignal;
  readonly #all = new Set<AbortController>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    const abortAll = (): void => {
      for (const follower of this.#all) follower.abort(signal.reason);
      this.#all.clear();
    };
    signal.addEventListener('abort', abortAll, { once: true });
  }

  /** Aborts the follower at once when the signal already has. */
  add(follower: AbortController): void {
    if (this.#signal.aborted) follower.abort(this.#signal.reason);
    else this.#all.add(follower);
  }

  delete(follower: AbortController): void {
    this.#all.delete(follower);
  }

  get size(): number {
    return this.#all.size;
  }
}
