// Combines several signals: aborts with the reason of the first source that aborts, or when its owner aborts it.
//   open      follows its sources
//   aborted   no longer follows any source
//   disposed  no longer follows any source; only its owner can abort it
//
// We do not use AbortSignal.any: Node keeps that signal in memory while it has a listener and one of its sources exists, and
// some of our sources exist as long as the process. A disposed JoinedSignal can be collected, even with listeners. So dispose
// it when the work is over.

export class JoinedSignal implements Disposable {
  readonly #own = new AbortController();
  readonly #sources: readonly AbortSignal[];

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    const over = this.#sources.find(({ aborted }) => aborted);
    if (over) this.#own.abort(over.reason);
    else for (const source of this.#sources) source.addEventListener('abort', this, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason: unknown): void {
    this[Symbol.dispose]();
    this.#own.abort(reason);
  }

  /** Called when a source aborts. */
  handleEvent({ target }: Event): void {
    this.abort((target as AbortSignal).reason);
  }

  /** Stops following the sources. The signal keeps its state. */
  [Symbol.dispose](): void {
    for (const source of this.#sources) source.removeEventListener('abort', this);
  }
}

/**
 * Aborts many short-lived controllers with one signal, through one listener on it. With a listener each, removing one would
 * search all others, which costs a small request more than everything else about its signal.
 */
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
