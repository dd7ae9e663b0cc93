// A database whose address is in a directory. It is looked up at the first use, and again when it can no longer be reached.
//
// nowhere  --first use: looked up-->  there
//   there    --not reached-->           doubted   the next use looks it up again, at most every few seconds
//   doubted  --same address-->  there (the same pool)     --other address-->  there (a new pool)

import type { DatabaseAddress, Directory } from '../../ports/directory.ts';
import { Failure, messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import type { Postgres, Sql } from './postgres.ts';

/** What the adapters of a target need from its database. */
export type TargetDatabase = Pick<Postgres, 'query' | 'grouped' | 'transaction' | 'probe'> & AsyncDisposable;

interface LocatedPostgresOptions {
  readonly directory: Directory;
  readonly commonName: string;
  readonly open: (at: DatabaseAddress) => TargetDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOKUP_MS = 15_000;
/** Minimum time between lookups of a database that cannot be reached. */
const DOUBT_MS = 5_000;

interface Place {
  readonly at: DatabaseAddress;
  readonly db: TargetDatabase;
}

export class LocatedPostgres implements TargetDatabase {
  readonly grouped: Sql = {
    query: <Row extends object>(text: string, values?: readonly unknown[], name?: string) =>
      this.#on((db) => db.grouped.query<Row>(text, values, name)),
  };
  readonly #options: LocatedPostgresOptions;
  readonly #ended = new AbortController();
  #place: Place | undefined;
  #isDoubted = false;
  #lookedUpAt = Number.NEGATIVE_INFINITY;
  #finding: Promise<Place> | undefined;

  constructor(options: LocatedPostgresOptions) {
    this.#options = options;
  }

  query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
    name?: string,
  ): Promise<Row[]> {
    return this.#on((db) => db.query<Row>(text, values, name));
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return this.#on((db) => db.transaction(work, signal));
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#on((db) => db.probe(signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(transient(`database ${this.#options.commonName} was closed`));
    await this.#finding?.catch(() => undefined);
    await this.#place?.db[Symbol.asyncDispose]();
  }

  async #on<Result>(call: (db: TargetDatabase) => Promise<Result>): Promise<Result> {
    const place = await this.#located();
    try {
      return await call(place.db);
    } catch (error) {
      if (error instanceof Failure && error.unreachable && place === this.#place) this.#isDoubted = true;
      throw error;
    }
  }

  async #located(): Promise<Place> {
    const { clock } = this.#options;
    if (this.#place && !(this.#isDoubted && clock.now() - this.#lookedUpAt >= DOUBT_MS)) return this.#place;
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  async #find(): Promise<Place> {
    const { directory, commonName, clock, log } = this.#options;
    this.#lookedUpAt = clock.now();
    const late = (): Error => transient(`the directory did not respond within ${LOOKUP_MS} ms`, { unreachable: true });
    using limit = deadline(clock, LOOKUP_MS, this.#ended.signal, late);
    const at = await directory.find(commonName, limit.signal);
    this.#isDoubted = false;
    if (this.#place && samePlace(this.#place.at, at)) return this.#place;
    const last = this.#place;
    this.#place = { at, db: this.#options.open(at) };
    if (last) {
      log.info({ database: commonName, from: last.at, to: at }, 'a database has moved');
      // Ends when the last of its connections is released.
      last.db[Symbol.asyncDispose]().then(undefined, (error: unknown) =>
        log.warn(
          { database: commonName, err: messageOf(error) },
          'connections to the old address could not be closed cleanly',
        ),
      );
    }
    return this.#place;
  }
}

const samePlace = (a: DatabaseAddress, b: DatabaseAddress): boolean =>
  a.host === b.host && a.port === b.port && a.database === b.database;
