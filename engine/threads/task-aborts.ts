// The signals of the tasks that a thread runs. A signal aborts when the pool tells its task to. The caller's reason stays in the
// pool, which rejects the task with it.

import { aborted } from '../runtime/failure.ts';
import { ABORTS, abortWord, type SharedWords } from './task-slots.ts';

export class TaskAborts {
  readonly #words: SharedWords;
  readonly #running = new Map<number, AbortController>();

  constructor(words: SharedWords) {
    this.#words = words;
    this.#watch(Atomics.load(words, ABORTS));
  }

  begin(slot: number): AbortSignal {
    const controller = new AbortController();
    this.#running.set(slot, controller);
    this.#abortIfTold(slot, controller);
    return controller.signal;
  }

  end(slot: number): void {
    this.#running.delete(slot);
  }

  #watch(known: number): void {
    const told = (): void => {
      const now = Atomics.load(this.#words, ABORTS);
      for (const [slot, controller] of this.#running) this.#abortIfTold(slot, controller);
      this.#watch(now);
    };
    void Promise.resolve(Atomics.waitAsync(this.#words, ABORTS, known).value).then(told);
  }

  #abortIfTold(slot: number, controller: AbortController): void {
    if (Atomics.load(this.#words, abortWord(slot)) === 1) controller.abort(aborted('the task was cancelled'));
  }
}
