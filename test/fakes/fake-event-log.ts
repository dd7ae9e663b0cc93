// The event log in memory: one table for all processes, one view of it per process.

import type { EventLog, EventRecord } from '../../engine/ports/event-log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { FakeRows } from './fake-rows.ts';

export class EventLogTable {
  readonly rows: FakeRows<EventRecord>;
  /** Messages dropped so far because nobody wanted their key, by channel. */
  readonly dropped = new Map<string, number>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.rows = new FakeRows(clock);
  }

  nextId(): number {
    return ++this.#lastId;
  }
}

export class FakeEventLog implements EventLog {
  readonly #table: EventLogTable;
  readonly #process: number;

  constructor(table: EventLogTable, process: number) {
    this.#table = table;
    this.#process = process;
  }

  publish: EventLog['publish'] = async (records, signal) => {
    this.#table.rows.enter(this.#process, signal);
    this.#table.rows.add(records);
  };

  consume: EventLog['consume'] = async (wanted, handle, signal) => {
    const isWanted = ({ channel, key }: EventRecord): boolean =>
      wanted.some((filter) => filter.channel === channel && filter.key === key);
    await this.#table.rows.consume(
      this.#process,
      ({ channel }) => wanted.some((filter) => filter.channel === channel),
      async (records) => {
        const taken = records.filter(isWanted);
        if (taken.length > 0) await handle(taken);
        for (const { channel } of records.filter((record) => !isWanted(record)))
          this.#table.dropped.set(channel, (this.#table.dropped.get(channel) ?? 0) + 1);
      },
      signal,
    );
  };

  nextEventId: EventLog['nextEventId'] = async (signal) => {
    this.#table.rows.enter(this.#process, signal);
    return this.#table.nextId();
  };
}
