// A setting that may change while the program runs: new users read the current value, existing ones are notified.

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

  /** Calls `hear` at each change from now on; the returned function unsubscribes. */
  watch(hear: (value: Value) => void): () => void {
    // A separate function for each watcher, so that one that watches twice is called twice.
    const mine = (value: Value): void => hear(value);
    this.#hearers.add(mine);
    return () => {
      this.#hearers.delete(mine);
    };
  }
}
