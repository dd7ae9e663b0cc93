// Runs a few pieces of work concurrently: whoever starts one waits until there is room for the next. The first failure stops
// the rest: running work should check `ended` regularly, and is awaited in any case.

export class AtOnce implements AsyncDisposable {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;
  #freed: (() => void) | undefined;
  /** True when the result of running work is no longer needed. */
  ended = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when there is room for the next one; rejects with the first failure of any work, including earlier work. */
  async begin(work: () => Promise<void>): Promise<void> {
    const running = this.#run(work).finally(() => {
      this.#running.delete(running);
      this.#freed?.();
    });
    this.#running.add(running);
    while (this.#running.size >= this.#limit) await this.#oneLess();
    if (this.#failure) throw this.#failure.error;
  }

  /** Resolves when all are done; rejects with the first failure. */
  async finish(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure) throw this.#failure.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    await Promise.all(this.#running);
  }

  /** Never rejects. */
  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failure ??= { error };
      this.ended = true;
    }
  }

  async #oneLess(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#freed = resolve;
    await promise;
  }
}
