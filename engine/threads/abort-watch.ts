// Tells tasks that their signals have aborted. To begin and to end listening to a signal costs more than all else that a
// small task costs the main thread, the more so the more others listen to the same one. So a task is listened for only
// once it has lasted for a while; until then its signal is looked at.
//   young   it was added since the last look
//   grown   it has been looked at once: from the next look on it listens by itself, unless it is over by then
// Until it listens, it hears of an abort at the next look, at the latest LOOK_MS later.

import type { Clock } from '../runtime/time.ts';

export interface Watched {
  /** Nothing is to be looked for any more. */
  readonly over: boolean;
  /** Acts on an abort that has been; nothing when there was none, or when it is over. */
  look(): void;
  /** Takes over: acts on an abort that has been, or listens for one that comes; nothing when it is over. */
  listen(): void;
}

/** Each look wakes the main thread, which takes a core from a task for longer than the look lasts. */
export const LOOK_MS = 10;
/** As many as may pile up between two looks before those that are over are let go: the collector would carry them along. */
const MANY = 256;

export class AbortWatch {
  readonly #clock: Clock;
  #young: Watched[] = [];
  #grown: readonly Watched[] = [];
  #letGoAt = MANY;
  #isDue = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(task: Watched): void {
    const count = this.#young.push(task);
    if (!this.#isDue) this.#lookLater();
    if (count >= this.#letGoAt) this.#letGo();
  }

  #lookLater(): void {
    this.#isDue = true;
    this.#clock.after(LOOK_MS, () => this.#look());
  }

  #letGo(): void {
    this.#young = this.#young.filter((task) => !task.over);
    // So that each is looked at about once, however many last.
    this.#letGoAt = Math.max(MANY, 2 * this.#young.length);
  }

  #look(): void {
    const grown = this.#grown;
    const young = this.#young.filter((task) => !task.over);
    this.#grown = young;
    this.#young = [];
    this.#letGoAt = MANY;
    if (young.length > 0) this.#lookLater();
    else this.#isDue = false;
    for (const task of grown) task.listen();
    for (const task of young) task.look();
  }
}
