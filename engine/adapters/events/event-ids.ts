// Event ids from a sequence of the cache database, whichever event log is used. Each process reserves a block of ids and
// assigns them locally.

import { unlessAborted } from '../../runtime/wait.ts';
import type { Postgres } from '../postgres/postgres.ts';

/** Increment of the sequence event_id. */
const ID_BLOCK = 1_000;

export class EventIds {
  readonly #db: Postgres;
  #next = 0;
  #end = 0;
  #fetching: Promise<void> | undefined;

  constructor(db: Postgres) {
    this.#db = db;
  }

  /** An integer below 2^53, unique across all processes. */
  async next(signal: AbortSignal): Promise<number> {
    // The first caller that finds the block used up fetches the next one for all.
    while (this.#next >= this.#end) {
      this.#fetching ??= this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
      await unlessAborted(this.#fetching, signal);
    }
    return this.#next++;
  }

  async #fetch(): Promise<void> {
    const [row] = await this.#db.query<{ first: number }>("select nextval('event_id') as first");
    this.#next = row?.first ?? 0;
    this.#end = this.#next + ID_BLOCK;
  }
}
