// A setting that may change while the program runs: whoever is made later reads the latest, whoever lives hears of it.

export class Tunable<Value> {
  #current: Value;
  readonly #hearers = new Set<(value: Value) => void>();

  constructor(value: Value) {
    this.#current = value;
  }

  get current(): Value {
    return this.#current;
  }

  set(value: Value): void {
    this.#current = value;
    for (const hear of [...this.#hearers]) hear(value);
  }

  /** Calls `hear` at each change from now on; the result ends that. */
  watch(hear: (value: Value) => void): () => void {
    // A function of its own for each who watches.
    const mine = (value: Value): void => hear(value);
    this.#hearers.add(mine);
    return () => {
      this.#hearers.delete(mine);
    };
  }
}
