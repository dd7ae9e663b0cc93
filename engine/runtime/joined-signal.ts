// Combines several signals: aborts with the reason of the first source that aborts, or when its owner aborts it.
//   open      follows its sources
//   aborted   no longer follows any source
//   disposed  the same, and aborts only when its owner says so
//
// Not AbortSignal.any: the runtime keeps that signal while it has a listener and one of its sources lives. Here sources live as
// long as the process. Nothing keeps a JoinedSignal once it is disposed, even with listeners. So whoever joins signals disposes
// of the result when its work is over.

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

  /** The signal keeps its state. */
  [Symbol.dispose](): void {
    for (const source of this.#sources) source.removeEventListener('abort', this);
  }
}
