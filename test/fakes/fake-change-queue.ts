// The change queue and its journal in memory: one table for all processes, one view of it per process.

import type { ChangeJournal, JournalEntry, PendingEntry } from '../../engine/adapters/events/postgres-queue.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { ChangeQueue } from '../../engine/ports/event-log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { FakeRows } from './fake-rows.ts';

const ORPHANS = 1_000;

export class ChangeTable {
  readonly ready: FakeRows<ObjectChange>;
  readonly pending = new Map<number, JournalEntry & { readonly process: number }>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.ready = new FakeRows(clock);
  }

  nextId(): number {
    return ++this.#lastId;
  }
}

export class FakeChangeQueue implements ChangeQueue, ChangeJournal {
  readonly #table: ChangeTable;
  readonly #process: number;

  constructor(table: ChangeTable, process: number) {
    this.#table = table;
    this.#process = process;
  }

  async note(entries: readonly JournalEntry[], signal: AbortSignal): Promise<readonly number[]> {
    this.#table.ready.enter(this.#process, signal);
    return entries.map((entry) => {
      const id = this.#table.nextId();
      this.#table.pending.set(id, { ...entry, process: this.#process });
      return id;
    });
  }

  async release(ids: readonly number[], signal: AbortSignal): Promise<void> {
    this.#table.ready.enter(this.#process, signal);
    const entries = ids.flatMap((id) => this.#table.pending.get(id) ?? []);
    for (const id of ids) this.#table.pending.delete(id);
    this.#table.ready.add(entries.map((entry) => entry.change));
  }

  async drop(ids: readonly number[], signal: AbortSignal): Promise<void> {
    this.#table.ready.enter(this.#process, signal);
    for (const id of ids) this.#table.pending.delete(id);
  }

  async orphans(signal: AbortSignal): Promise<readonly PendingEntry[]> {
    this.#table.ready.enter(this.#process, signal);
    return [...this.#table.pending]
      .filter(([, entry]) => !this.#table.ready.alive(entry.process))
      .slice(0, ORPHANS)
      .map(([id, { change, etag }]) => ({ id, change, etag }));
  }

  async consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#table.ready.consume(this.#process, () => true, handle, signal);
  }
}
