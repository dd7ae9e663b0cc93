// What the durable measures ask of an engine: the product's or a peer's.

export interface JobEngine extends AsyncDisposable {
  /** Puts jobs 0 .. count-1 into an empty queue, nobody working yet. */
  fill(count: number): Promise<void>;
  /**
   * Works on them all in two threads; milliseconds from the start of the worker to the end of the last job. Resolves
   * once all are completed in the store, too; throws when one ran twice or is left.
   */
  drain(count: number): Promise<number>;
}

/** Every job once, and no other. */
export class Tally {
  readonly #seen = new Set<number>();
  readonly #count: number;
  readonly #begun = performance.now();
  readonly #all = Promise.withResolvers<number>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Milliseconds until the last job ended. */
  get all(): Promise<number> {
    return this.#all.promise;
  }

  failed(error: unknown): void {
    this.#all.reject(error);
  }

  ended(n: number, answer: unknown): void {
    if (this.#seen.has(n) || n >= this.#count || answer === undefined)
      this.#all.reject(new Error(`job ${n} ran twice`));
    this.#seen.add(n);
    if (this.#seen.size === this.#count) this.#all.resolve(performance.now() - this.#begun);
  }
}

/** Waits until `left` says that nothing is, for at most ten seconds. */
export async function untilEmpty(left: () => Promise<number>): Promise<void> {
  const begun = performance.now();
  for (let count = await left(); count > 0; count = await left())
    if (performance.now() - begun > 10_000) throw new Error(`${count} jobs are left`);
}
