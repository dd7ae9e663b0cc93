// Yields items one after the other, like a generator, but keeps no reference to an item that was yielded. A generator keeps its
// variables while its reader waits, and a list passes through several generators. With items of a megabyte and a client that
// stopped reading, each list therefore held several copies of an item.

import type { Semaphore } from './semaphore.ts';

export class Items<Item extends object | string> implements AsyncIterableIterator<Item, void, undefined> {
  readonly #read: () => Promise<Item | undefined>;
  readonly #close: () => unknown;
  #ended = false;

  /**
   * @param read resolves with undefined at the end
   * @param close called once when the reader stops early or `read` fails; not after the end
   */
  constructor(read: () => Promise<Item | undefined>, close: () => unknown = () => {}) {
    this.#read = read;
    this.#close = close;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Item, void>> {
    if (this.#ended) return { value: undefined, done: true };
    try {
      const value = await this.#read();
      if (value !== undefined) return { value, done: false };
    } catch (error) {
      await this.return().catch(() => {});
      throw error;
    }
    this.#ended = true;
    return { value: undefined, done: true };
  }

  async return(): Promise<IteratorReturnResult<void>> {
    if (!this.#ended) {
      this.#ended = true;
      await this.#close();
    }
    return { value: undefined, done: true };
  }
}

export function mapped<From, To extends object | string>(
  items: AsyncIterable<From>,
  change: (item: From) => To | Promise<To>,
): Items<To> {
  const source = items[Symbol.asyncIterator]();
  return new Items(
    async () => {
      const next = await source.next();
      return next.done ? undefined : change(next.value);
    },
    () => source.return?.(),
  );
}

/** Creates each item while holding one of the places, which tenants share. */
export function inTurn<Item extends object | string>(
  places: Semaphore,
  tenant: string,
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): Items<Item> {
  const source = items[Symbol.asyncIterator]();
  return new Items(
    async () => {
      const free = await places.take(signal, tenant);
      try {
        const next = await source.next();
        return next.done ? undefined : next.value;
      } finally {
        free();
      }
    },
    () => source.return?.(),
  );
}

/** Yields the items that were already read from the source, then the rest of the source. */
export function startingWith<Item extends object | string>(first: Item[], rest: AsyncIterator<Item>): Items<Item> {
  const read = async (): Promise<Item | undefined> => {
    const item = first.shift();
    if (item !== undefined) return item;
    const next = await rest.next();
    return next.done ? undefined : next.value;
  };
  return new Items(read, () => rest.return?.());
}

/** Yields the items of batches. Does not keep a batch after its last item. */
export function flattened<Item extends object | string>(batches: AsyncIterable<readonly Item[]>): Items<Item> {
  const source = batches[Symbol.asyncIterator]();
  let left: Item[] = [];
  return new Items(
    async () => {
      while (left.length === 0) {
        const next = await source.next();
        if (next.done) return undefined;
        left = next.value.toReversed();
      }
      return left.pop();
    },
    () => source.return?.(),
  );
}

/** Opens the source at the first read. */
export function opened<Item extends object | string>(
  open: () => Promise<AsyncIterable<Item> | undefined>,
): Items<Item> {
  let source: AsyncIterator<Item> | undefined;
  let begun = false;
  return new Items(
    async () => {
      if (!begun) source = (await open())?.[Symbol.asyncIterator]();
      begun = true;
      const next = await source?.next();
      return !next || next.done ? undefined : next.value;
    },
    () => source?.return?.(),
  );
}
