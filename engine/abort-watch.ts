// Tells tasks that their signals have aborted. To begin and to end listening to a signal costs more than all else that a
// small task costs the main thread, the more so the more others listen to the same one. So a task is listened for only
// once it has lasted for a while; until then its signal is looked at.
//   young   it was added since the last look
//   grown   it has been looked at once: from the next look on it listens by itself, unless it is over by then
// Until it listens, it hears of an abort at the next look, at the latest LOOK_MS later.

import type { Clock } from './time.ts';

export interface Watched {
  /** Acts on an abort that has been; nothing when there was none, or when it is over. */
  look(): void;
  /** Takes over: acts on an abort that has been, or listens for one that comes; nothing when it is over. */
  listen(): void;
}

/** Each look wakes the main thread, which takes a core from a task for longer than the look lasts. */
export const LOOK_MS = 10;

export class AbortWatch {
  readonly #clock: Clock;
  #young: Watched[] = [];
  #grown: readonly Watched[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(task: Watched): void {
    if (this.#young.push(task) + this.#grown.length === 1) this.#clock.after(LOOK_MS, () => this.#look());
  }

  #look(): void {
    const grown = this.#grown;
    const young = this.#young;
    this.#grown = young;
    this.#young = [];
    if (young.length > 0) this.#clock.after(LOOK_MS, () => this.#look());
    for (const task of grown) task.listen();
    for (const task of young) task.look();
  }
}
