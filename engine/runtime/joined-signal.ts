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
