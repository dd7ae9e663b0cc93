// A bounded in-memory queue: a ring of fixed slots.
//   offer   adds an item; false when full or closed, and the caller decides what to do
//   take    waits for an item; undefined once closed and empty
//   resize  changes the capacity; returns the items that no longer fit
//   close   refuses new items; takers get the remaining ones, then undefined

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
      // Takers wait only while the ring is empty, so order is preserved.
      this.#takers.delete(taker);
      taker(item);
      return true;
    }
    if (this.#size === this.capacity) return false;
    this.#slots[(this.#head + this.#size) % this.capacity] = item;
    this.#size++;
    return true;
  }

  /** Removes and returns the oldest item; undefined when there is none. */
  poll(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.capacity;
    this.#size--;
    return item;
  }

  /** Removes and returns the oldest of the items with the lowest rank; undefined when there is none. Takes linear time. */
  pollLowest(rankOf: (item: T) => number): T | undefined {
    let [place, lowest] = [0, Number.POSITIVE_INFINITY];
    for (let i = 0; i < this.#size && lowest > 0; i++) {
      const rank = rankOf(this.#slots[this.#slot(i)] as T);
      if (rank < lowest) [place, lowest] = [i, rank];
    }
    const found = this.#size === 0 ? undefined : this.#slots[this.#slot(place)];
    // The items before it move up by one, which frees the first slot.
    for (let i = place; i > 0; i--) this.#slots[this.#slot(i)] = this.#slots[this.#slot(i - 1)];
    this.poll();
    return found;
  }

  /**
   * Waits for an item; undefined when closed and empty. Rejects with the signal's reason. `rankOf` as in {@link pollLowest}.
   */
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

  /** Removes and returns all items, oldest first. */
  drain(): T[] {
    const items: T[] = [];
    while (this.#size > 0) items.push(this.poll() as T);
    return items;
  }

  /** Sets the capacity. Returns the newest items when they no longer fit, oldest first. */
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

  /** The items, oldest first, without removing them. */
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
