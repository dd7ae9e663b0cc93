// Rows in memory that consumers of several processes claim, handle and remove; for the fakes of the event log and of
// the change queue.

import { aborted } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { settledUnless, settledWithin } from '../../engine/runtime/wait.ts';

const BATCH = 500;
const POLL_MS = 5_000;
const PAUSE_MS = 1_000;

interface Held<Row> {
  readonly row: Row;
  process: number | undefined;
}

export class FakeRows<Row> {
  readonly #clock: Clock;
  readonly #dead = new Set<number>();
  #rows: Held<Row>[] = [];
  /** Of consumers that wait for rows. */
  readonly #wakes = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  kill(process: number): void {
    this.#dead.add(process);
  }

  alive(process: number): boolean {
    return !this.#dead.has(process);
  }

  /** Call before anything that a process does. */
  enter(process: number, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!this.alive(process)) throw aborted(`process ${process} is dead`);
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.push({ row, process: undefined });
    for (const wake of this.#wakes) wake();
  }

  /** What is not handled yet, oldest first, for assertions. */
  get waiting(): readonly Row[] {
    return this.#rows.map((held) => held.row);
  }

  /** Resolves when the signal aborts, or when the process was killed. */
  async consume(
    process: number,
    wanted: (row: Row) => boolean,
    handle: (rows: readonly Row[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && this.alive(process)) {
      const free = this.#rows.filter(
        (held) => wanted(held.row) && (held.process === undefined || !this.alive(held.process)),
      );
      const batch = free.slice(0, BATCH);
      if (batch.length === 0) {
        const added = Promise.withResolvers<void>();
        this.#wakes.add(added.resolve);
        await settledUnless(settledWithin(this.#clock, POLL_MS, added.promise), signal);
        this.#wakes.delete(added.resolve);
        continue;
      }
      for (const held of batch) held.process = process;
      const taken = await handle(batch.map((held) => held.row)).then(
        () => true,
        () => false,
      );
      if (!this.alive(process)) return;
      if (taken) this.#rows = this.#rows.filter((held) => !batch.includes(held));
      else {
        for (const held of batch) held.process = undefined;
        await this.#clock.sleep(PAUSE_MS, signal).catch(() => undefined);
      }
    }
  }
}
