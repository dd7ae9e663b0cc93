// A keyboard on which a test types. What is typed before somebody listens is heard by the first listener.

import type { Keyboard } from '../../bin/cli/terminal/terminal.ts';

export class FakeKeyboard implements Keyboard {
  readonly #listeners = new Set<(key: string) => void>();
  #unheard = '';

  get listeners(): number {
    return this.#listeners.size;
  }

  type(text: string): void {
    if (this.#listeners.size === 0) this.#unheard += text;
    for (const listener of this.#listeners) for (const key of text) listener(key);
  }

  onKey(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    const unheard = this.#unheard;
    this.#unheard = '';
    for (const key of unheard) listener(key);
    return () => this.#listeners.delete(listener);
  }
}
