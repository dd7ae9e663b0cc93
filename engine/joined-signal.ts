// A signal made of others: aborts with the first of them that does and its reason, or when its owner says so.
//   open      follows its sources
//   aborted   follows nobody any more
//   disposed  the same, and does not abort unless its owner says so
//
// Not AbortSignal.any: what that gives is kept by the runtime for as long as a listener is left on it and one of its
// sources lives, and here sources live as long as the process. Of this one nothing is kept once it is disposed of,
// whoever still listens; so whoever joins signals disposes of the result when the work that it was for is over.

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

  /** A source aborted. */
  handleEvent({ target }: Event): void {
    this.abort((target as AbortSignal).reason);
  }

  /** The signal stays as it is. */
  [Symbol.dispose](): void {
    for (const source of this.#sources) source.removeEventListener('abort', this);
  }
}
