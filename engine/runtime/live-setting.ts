// A live setting: a value that may change while the program runs. Readers get the current value; watchers are notified.

export class LiveSetting<Value> {
  #current: Value;
  readonly #listeners = new Set<(value: Value) => void>();

  constructor(value: Value) {
    this.#current = value;
  }

  get current(): Value {
    return this.#current;
  }

  set(value: Value): void {
    this.#current = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  /** Calls `listener` at each change from now on; the returned function unsubscribes. */
  watch(listener: (value: Value) => void): () => void {
    // A separate function for each watcher, so that one that watches twice is called twice.
    const mine = (value: Value): void => listener(value);
    this.#listeners.add(mine);
    return () => {
      this.#listeners.delete(mine);
    };
  }
}
