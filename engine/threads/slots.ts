// Numbers things that come and go, with few there at a time: a number is that of a slot, used again once it was taken out.
// A Map in this place kept all of them alive for a while: each time its table is made anew, the old one points to the next,
// and once one has become old the collector of young objects follows all the tables after it, with what was in them.

export class Slots<Item extends object> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of its slot. */
  put(item: Item): number {
    this.#size++;
    const slot = this.#free.pop();
    if (slot === undefined) return this.#items.push(item) - 1;
    this.#items[slot] = item;
    return slot;
  }

  /** Undefined when nothing is in the slot. */
  take(slot: number): Item | undefined {
    const item = this.#items[slot];
    if (item === undefined) return undefined;
    this.#items[slot] = undefined;
    this.#free.push(slot);
    this.#size--;
    return item;
  }

  /** Takes out all that is there. */
  drain(): readonly Item[] {
    const all = [...this];
    for (let slot = 0; slot < this.#items.length; slot++) this.take(slot);
    return all;
  }

  /** What is there, by slot; what comes and goes meanwhile changes nothing. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items.filter((item) => item !== undefined).values();
  }
}
