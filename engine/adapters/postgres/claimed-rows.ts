// Consumers of a table with at-least-once delivery: claim a batch by writing (instance, consumer) into its rows, handle it
// without holding a connection, then delete it.
//
// A row is free when it is not claimed or its process is dead. It is also free when its consumer belongs to this process and no
// longer runs, or is the one that claims. A consumer has no batch in hand while it claims, so rows with its id are left from a
// claim or delete whose response was lost.

import { kindOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Backoff, DELAYS, persisting } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { Notifier } from '../../runtime/wait.ts';
import type { Postgres } from './postgres.ts';
import type { PostgresInstance } from './postgres-instance.ts';

export const BATCH = 500;
/** Notifications wake consumers; polling finds the rows of crashed processes. */
const POLL_MS = 5_000;

/** SQL condition for free rows. $1 is the instance; `others` is the parameter with its other consumers, integer[]. */
export const freeRow = (others: string): string => `(holder is null
  or (holder = $1 and consumer <> all(${others}))
  or (holder <> $1 and holder not in (select id from alive_instance)))`;

interface ClaimedTable<Row extends { readonly id: number }> {
  readonly table: 'event_log' | 'object_change';
  /** NOTIFY channel for new rows. */
  readonly channel: string;
  /** Claims up to {@link BATCH} free rows for (instance, consumer), in the order of ids. */
  claim(instance: number, consumer: number, others: readonly number[]): Promise<readonly Row[]>;
}

export class ClaimedRows {
  readonly #db: Postgres;
  readonly #instance: PostgresInstance;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #running = new Set<number>();
  #last = 0;

  constructor(db: Postgres, instance: PostgresInstance, clock: Clock, log: Logger) {
    this.#db = db;
    this.#instance = instance;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Hands over batches until the signal aborts, then resolves. A batch whose `handle` rejects is released and delivered again
   * after a pause. Lost connections are retried. Rejects only with a defect in our own statements.
   */
  async consume<Row extends { readonly id: number }>(
    from: ClaimedTable<Row>,
    handle: (rows: readonly Row[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const consumer = ++this.#last;
    const notifier = new Notifier();
    notifier.notifyOn(signal);
    const stopListening = this.#instance.listen(from.channel, () => notifier.notify());
    const turns = async (backoff: Backoff): Promise<void> => {
      while (!signal.aborted) {
        const turn = await this.#turn(from, consumer, handle, signal);
        if (turn === 'failed') throw transient(`rows of ${from.table} were not handed over`);
        backoff.succeeded();
        // Rows that came since it looked have rung.
        if (turn === 'emptied') await notifier.wait(this.#clock, POLL_MS);
      }
    };
    // The turn has logged why.
    const failed = (error: unknown): void => {
      if (kindOf(error) !== 'transient') throw error;
    };
    this.#running.add(consumer);
    try {
      await persisting(DELAYS.batch, this.#clock, turns, failed, signal);
    } finally {
      stopListening();
      this.#running.delete(consumer);
    }
  }

  /** Processes one batch. `emptied`: there were no more rows; `failed`: retry after a pause. */
  async #turn<Row extends { readonly id: number }>(
    from: ClaimedTable<Row>,
    consumer: number,
    handle: (rows: readonly Row[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<'emptied' | 'handled' | 'failed'> {
    // While disconnected, others would consider rows that we claim now abandoned.
    if (!this.#instance.connected) return 'failed';
    try {
      const others = [...this.#running].filter((other) => other !== consumer);
      const rows = await from.claim(this.#instance.id, consumer, others);
      if (rows.length === 0) return 'emptied';
      const ids = rows.map((row) => row.id);
      const taken = !signal.aborted && (await this.#taken(from.table, handle, rows, signal));
      if (taken) await this.#db.query(`delete from ${from.table} where id = any($1)`, [ids], `taken-${from.table}`);
      else await this.#giveBack(from.table, consumer, ids);
      if (!taken) return 'failed';
      return rows.length < BATCH ? 'emptied' : 'handled';
    } catch (err) {
      if (kindOf(err) !== 'transient') throw err;
      this.#log.warn({ err, table: from.table }, 'rows could not be claimed; retrying');
      return 'failed';
    }
  }

  async #taken<Row>(
    table: string,
    handle: (rows: readonly Row[]) => Promise<void>,
    rows: readonly Row[],
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      await handle(rows);
      return true;
    } catch (err) {
      // After an abort the reason is known.
      if (!signal.aborted)
        this.#log.warn({ err, table, rows: rows.length }, 'a batch was rejected; it will be delivered again');
      return false;
    }
  }

  async #giveBack(table: ClaimedTable<never>['table'], consumer: number, ids: readonly number[]): Promise<void> {
    await this.#db.query(
      `update ${table} set holder = null, consumer = null where id = any($1) and holder = $2 and consumer = $3`,
      [ids, this.#instance.id, consumer],
    );
  }
}
