// Memory that a pool shares with its threads, allocated once: a slot of two words for each task under way, and a word that all
// threads watch. A slot is free again when its task has ended and the call to the thread is over.
//
//   owner     WAITING, then either CANCELLED or the id of the thread that runs the task
//   abort     0, then 1 once the task's signal should abort
//   ABORTS    how many tasks were told to abort so far

export const WAITING = 0;
export const CANCELLED = -1;
export const ABORTS = 0;
export const ownerWord = (slot: number): number => 1 + 2 * slot;
export const abortWord = (slot: number): number => 2 + 2 * slot;

export type SharedWords = Int32Array<SharedArrayBuffer>;

/** The pool's side. */
export class TaskSlots {
  readonly words: SharedWords;
  readonly #free: number[];

  constructor(count: number) {
    this.words = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (1 + 2 * count)));
    this.#free = Array.from({ length: count }, (_, slot) => slot);
  }

  /** A slot for a task that waits; undefined when all are in use. */
  take(): number | undefined {
    const slot = this.#free.pop();
    if (slot === undefined) return undefined;
    Atomics.store(this.words, abortWord(slot), 0);
    Atomics.store(this.words, ownerWord(slot), WAITING);
    return slot;
  }

  giveBack(slot: number): void {
    this.#free.push(slot);
  }

  ownerOf(slot: number): number {
    return Atomics.load(this.words, ownerWord(slot));
  }

  /** Cancels the task if no thread has begun it. Returns true if so: then no thread will begin it. */
  takeBack(slot: number): boolean {
    return Atomics.compareExchange(this.words, ownerWord(slot), WAITING, CANCELLED) === WAITING;
  }

  abort(slot: number): void {
    Atomics.store(this.words, abortWord(slot), 1);
    Atomics.add(this.words, ABORTS, 1);
    Atomics.notify(this.words, ABORTS);
  }
}
