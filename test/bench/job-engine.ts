// What the durable measures ask of an engine: the product's or a peer's.

import { systemClock } from '../../engine/runtime/time.ts';

/** What a job does: nothing, or 0.7 ms of a core. */
export type Work = 'noop' | 'digest';

export interface JobEngine extends AsyncDisposable {
  /** Puts jobs 0 .. count-1 into an empty queue, nobody working yet. */
  fill(count: number): Promise<void>;
  /**
   * Works on them all in two threads; milliseconds from the start of the worker to the end of the last job. Resolves
   * once all are completed in the store, too; throws when one ran twice or is left.
   */
  drain(count: number, work: Work): Promise<number>;
  /** Jobs that come one by one to an idle worker: milliseconds from asking for each to its start. */
  pickups?(count: number): Promise<readonly number[]>;
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

/** Calls `add` every 10 ms; milliseconds from each call to `started` of the same job. */
export async function pickedUp(
  count: number,
  add: (n: number) => Promise<unknown>,
  onStarted: (started: (n: number) => void) => void,
): Promise<readonly number[]> {
  const asked: number[] = [];
  const took: number[] = [];
  const all = Promise.withResolvers<void>();
  onStarted((n) => {
    took.push(performance.now() - (asked[n] ?? Number.NaN));
    if (took.length === count) all.resolve();
  });
  for (let n = 0; n < count; n++) {
    asked[n] = performance.now();
    await Promise.all([add(n), systemClock.sleep(10)]);
  }
  await all.promise;
  return took;
}
