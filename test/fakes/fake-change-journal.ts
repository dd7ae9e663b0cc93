// A change journal in memory. `crash()` stands for the death of the process that noted what is pending.

import type { ChangeJournal, JournalEntry, PendingEntry } from '../../engine/adapters/events/postgres-queue.ts';
import type { ObjectChange } from '../../engine/model/event.ts';

type Step = 'note' | 'release' | 'drop';

export class FakeChangeJournal implements ChangeJournal {
  /** What consumers were given, in order. */
  readonly delivered: ObjectChange[] = [];
  /** Called before (`done` false) and after each step; throw or hang to break off there. */
  onStep: (step: Step, done: boolean) => void | Promise<void> = () => {};
  readonly #pending = new Map<number, PendingEntry & { readonly dead: boolean }>();
  #lastId = 0;

  get pending(): readonly JournalEntry[] {
    return [...this.#pending.values()].map(({ change, etag }) => ({ change, etag }));
  }

  crash(): void {
    for (const [id, entry] of this.#pending) this.#pending.set(id, { ...entry, dead: true });
    this.onStep = () => {};
  }

  async note(entries: readonly JournalEntry[], signal: AbortSignal): Promise<readonly number[]> {
    signal.throwIfAborted();
    await this.onStep('note', false);
    const ids = entries.map((entry) => {
      const id = ++this.#lastId;
      this.#pending.set(id, { ...entry, id, dead: false });
      return id;
    });
    await this.onStep('note', true);
    return ids;
  }

  async release(ids: readonly number[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.onStep('release', false);
    for (const id of ids) {
      const entry = this.#pending.get(id);
      if (entry) this.delivered.push(entry.change);
      this.#pending.delete(id);
    }
    await this.onStep('release', true);
  }

  async drop(ids: readonly number[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.onStep('drop', false);
    for (const id of ids) this.#pending.delete(id);
    await this.onStep('drop', true);
  }

  async orphans(signal: AbortSignal): Promise<readonly PendingEntry[]> {
    signal.throwIfAborted();
    return [...this.#pending.values()]
      .filter((entry) => entry.dead)
      .slice(0, 1000)
      .map(({ id, change, etag }) => ({ id, change, etag }));
  }
}
