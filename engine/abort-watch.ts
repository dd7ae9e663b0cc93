// Tells tasks that their signals have aborted. To begin and to end listening to a signal costs more than all else that a
// small task costs the main thread, the more so the more others listen to the same one. So a task is listened for only
// once it has lasted for a moment; until then its signal is looked at.
//   add     the task is young: it hears of an abort at the next look, at the latest LOOK_MS later
//   look    from then on it listens by itself; one that is over by then never did

import type { Clock } from './time.ts';

export interface Watched {
  /** Takes over: acts on an abort that has been, or listens for one that comes; nothing when it is over. */
  listen(): void;
}

const LOOK_MS = 1;

export class AbortWatch {
  readonly #clock: Clock;
  #young: Watched[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(task: Watched): void {
    if (this.#young.push(task) > 1) return;
    this.#clock.after(LOOK_MS, () => {
      const tasks = this.#young;
      this.#young = [];
      for (const young of tasks) young.listen();
    });
  }
}
