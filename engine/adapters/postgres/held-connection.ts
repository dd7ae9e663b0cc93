// A connection of a pool, for several statements in turn. If the server did not answer one of them, the connection counts as
// lost: nothing more is sent on it, and it is closed.

import type pg from 'pg';
import { unlessAborted } from '../../runtime/wait.ts';
import { sqlState } from './postgres.ts';

/** Node.js fires a timer with a longer delay at once. */
const LONGEST_MS = 2 ** 31 - 1;

export class HeldConnection implements Disposable {
  readonly #client: pg.PoolClient;
  readonly #until: AbortSignal | undefined;
  #lost: Error | undefined;

  /** @param until waits for each answer until this aborts; default: as long as the pool says */
  constructor(client: pg.PoolClient, until?: AbortSignal) {
    this.#client = client;
    this.#until = until;
  }

  async query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (this.#lost) throw this.#lost;
    try {
      if (!this.#until) return await this.#client.query(query);
      const patient: pg.QueryConfig & pg.ClientConfig = { ...query, query_timeout: LONGEST_MS };
      return await unlessAborted(this.#client.query(patient), this.#until);
    } catch (error) {
      if (sqlState(error) === undefined) this.#lost = error as Error;
      throw error;
    }
  }

  /** Never rejects. The server itself rolls back what was lost. */
  async rollback(): Promise<void> {
    await this.query({ text: 'rollback' }).catch((error: Error) => {
      this.#lost = error;
    });
  }

  /** Returns it to the pool, or closes it. */
  [Symbol.dispose](): void {
    this.#client.release(this.#lost);
  }
}
