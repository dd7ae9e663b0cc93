// A bounded queue in memory: a ring of fixed slots.
//   offer   puts one in; false when full or closed: the sender decides what that means
//   take    waits for one; undefined once closed and empty
//   resize  changes how many it holds; what no longer fits leaves
//   close   refuses what comes, hands out what is there, then ends the takers

export class Mailbox<T> {
  #slots: (T | undefined)[];
  readonly #takers = new Set<(item: T | undefined) => void>();
  #head = 0;
  #size = 0;
  #closed = false;

  constructor(capacity: number) {
    this.#slots = slots(capacity);
  }

  get capacity(): number {
    return this.#slots.length;
  }

  get size(): number {
    return this.#size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  offer(item: T): boolean {
    if (this.#closed) return false;
    const [taker] = this.#takers;
    if (taker) {
      // Takers wait only while the ring is empty, so order is kept.
      this.#takers.delete(taker);
      taker(item);
      return true;
    }
    if (this.#size === this.capacity) return false;
    this.#slots[(this.#head + this.#size) % this.capacity] = item;
    this.#size++;
    return true;
  }

  /** The oldest item, or undefined when there is none just now. */
  poll(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.capacity;
    this.#size--;
    return item;
  }

  /** The oldest of those with the lowest rank, or undefined when there is none just now. Looks at each. */
  pollLowest(rankOf: (item: T) => number): T | undefined {
    let [place, lowest] = [0, Number.POSITIVE_INFINITY];
    let i = 0;
    for (const item of this) {
      const rank = rankOf(item);
      if (rank < lowest) [place, lowest] = [i, rank];
      if (rank <= 0) break;
      i++;
    }
    const found = this.#size === 0 ? undefined : this.#slots[this.#slot(place)];
    // Those before it move up by one, and the first of them leaves a free slot.
    for (let i = place; i > 0; i--) this.#slots[this.#slot(i)] = this.#slots[this.#slot(i - 1)];
    this.poll();
    return found;
  }

  /** Waits for an item; undefined when closed and empty; rejects with the signal's reason. `rankOf` as of {@link pollLowest}. */
  take(signal: AbortSignal, rankOf?: (item: T) => number): Promise<T | undefined> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#size > 0 || this.#closed) return Promise.resolve(rankOf ? this.pollLowest(rankOf) : this.poll());
    return new Promise((resolve, reject) => {
      const settle = (item: T | undefined): void => {
        signal.removeEventListener('abort', abort);
        resolve(item);
      };
      const abort = (): void => {
        this.#takers.delete(settle);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#takers.add(settle);
    });
  }

  /** Takes everything out at once, oldest first. */
  drain(): T[] {
    const items: T[] = [];
    while (this.#size > 0) items.push(this.poll() as T);
    return items;
  }

  /** Holds up to `capacity` from now on. Gives back what is too much: the newest, oldest first. */
  resize(capacity: number): T[] {
    const kept = slots<T>(capacity);
    const items = this.drain();
    const surplus = items.splice(capacity);
    for (const [i, item] of items.entries()) kept[i] = item;
    this.#slots = kept;
    this.#head = 0;
    this.#size = items.length;
    return surplus;
  }

  /** What is there, oldest first; nothing leaves. */
  *[Symbol.iterator](): Generator<T> {
    for (let i = 0; i < this.#size; i++) yield this.#slots[(this.#head + i) % this.capacity] as T;
  }

  #slot(place: number): number {
    return (this.#head + place) % this.capacity;
  }

  close(): void {
    this.#closed = true;
    for (const taker of this.#takers) taker(undefined);
    this.#takers.clear();
  }
}

function slots<T>(capacity: number): (T | undefined)[] {
  if (!Number.isInteger(capacity) || capacity < 1) {
    throw new RangeError(`mailbox capacity must be a whole number of at least 1, not ${capacity}`);
  }
  return new Array(capacity);
}
