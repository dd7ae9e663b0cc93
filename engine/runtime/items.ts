// Yields items one after the other, like a generator, but without keeping an item that was handed out. A generator keeps its
// variables while its reader waits, and a list goes through several generators. With items of a megabyte and a client that
// stops reading, each list therefore held several copies of one.

import type { Semaphore } from './semaphore.ts';

export class Items<Item extends object | string> implements AsyncIterableIterator<Item, void, undefined> {
  readonly #read: () => Promise<Item | undefined>;
  readonly #close: () => unknown;
  #ended = false;

  /**
   * @param read undefined at the end
   * @param close called once, unless `read` came to the end: when the reader stops, or after a failure
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

/** What was read of the source already, then the rest of it. */
export function startingWith<Item extends object | string>(first: Item[], rest: AsyncIterator<Item>): Items<Item> {
  const read = async (): Promise<Item | undefined> => {
    const item = first.shift();
    if (item !== undefined) return item;
    const next = await rest.next();
    return next.done ? undefined : next.value;
  };
  return new Items(read, () => rest.return?.());
}

/** The items of batches; batches are released as soon as they are handed out. */
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

/** For items that are known only after something else was read. */
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
