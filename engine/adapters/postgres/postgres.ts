// PostgreSQL access for the adapters: a bounded pool, transactions, cursors, and errors mapped to failure kinds.

import pg from 'pg';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { GroupCommit, LOCK_MS } from './group-commit.ts';
import { HeldConnection } from './held-connection.ts';
import { ProbeConnection, postgresLine } from './probe-connection.ts';

export interface PostgresOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Search path of every connection, so that statements use unqualified table names; a checked identifier. */
  readonly schema: string;
  readonly poolSize: number;
  /** Of a pool of several connections, keep one for the statements that are committed in groups; default no. */
  readonly groups?: boolean;
  readonly idleTimeoutMs: number;
  /** Without an answer to a statement for so long, its connection counts as lost; default 65 s. */
  readonly answerMs?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly tls?: { readonly ca?: string; readonly rejectUnauthorized: boolean };
}

/** Runs statements: on any connection of the pool, or all on one inside of a transaction. Pass values only as parameters. */
export interface Sql {
  /** With `name` it is a prepared statement of the connection; a name always has the same text. */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<Row[]>;
}

const CONNECT_MS = 10_000;
const STATEMENT_MS = 60_000;
/** For the server to tell us that it ended a statement. */
const ANSWER_MS = 5_000;
/** Finds out within 20 s that the server's machine is gone. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;
/** SQLSTATE. */
const TOO_MANY_CONNECTIONS = '53300';

// int8 (20) as a number where it is safe, otherwise text; numeric (1700) stays text; timestamptz stays Date.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === 20 ? parseInt8 : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

function parseInt8(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

export class Postgres implements Sql, AsyncDisposable {
  /**
   * Executes statements that wait at the same time in one transaction (group-commit.ts). For frequent statements; their order
   * among each other is undefined, as it is on several connections.
   */
  readonly grouped: Sql;
  readonly #pool: pg.Pool;
  readonly #groupPool: pg.Pool | undefined;
  readonly #groups: GroupCommit | undefined;
  readonly #options: PostgresOptions;
  readonly #probe: ProbeConnection;
  #ended: Promise<void> | undefined;

  constructor(options: PostgresOptions, log: Logger) {
    this.#options = options;
    const probing = { ...connectionConfig(options), statement_timeout: STATEMENT_MS };
    this.#probe = new ProbeConnection({
      open: (lost) => postgresLine(probing, lost),
      isFull: (error) => sqlState(error) === TOO_MANY_CONNECTIONS,
    });
    const grouped = options.groups === true && options.poolSize > 1 ? 1 : 0;
    this.#pool = openPool(options, { max: options.poolSize - grouped }, log);
    if (grouped > 0) {
      this.#groupPool = openPool(options, { max: grouped, lock_timeout: LOCK_MS }, log);
      this.#groups = new GroupCommit(this.#groupPool, types);
    }
    this.grouped = this.groupedOr(this);
  }

  /** With a `name` the statement is planned once per connection; a name always has the same text. */
  async query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
    name?: string,
  ): Promise<Row[]> {
    try {
      return this.#answered(await this.#pool.query(statement(text, values, name))).rows as Row[];
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Like {@link grouped}, for statements that must not wait for a connection of this pool: what a group cannot execute is
   * executed by `alone`, on the same database.
   */
  groupedOr(alone: Sql): Sql {
    const groups = this.#groups;
    if (!groups) return alone;
    return {
      query: async <Row extends object>(text: string, values: readonly unknown[] = [], name?: string) => {
        try {
          return this.#answered(await groups.query<Row>(alone, text, values, name));
        } catch (error) {
          throw this.#failure(error);
        }
      },
    };
  }

  /**
   * Commits when `work` resolves, rolls back when it rejects. The signal is checked before the commit.
   * @param isLong its statements may take any time, as those of a migration; the signal ends them
   */
  async transaction<Result>(
    work: (sql: Sql) => Promise<Result>,
    signal: AbortSignal,
    { isLong = false } = {},
  ): Promise<Result> {
    signal.throwIfAborted();
    using held = await this.#hold(isLong ? signal : undefined);
    const sql: Sql = {
      query: async <Row extends object>(text: string, values: readonly unknown[] = [], name?: string) =>
        this.#answered(await held.query(statement(text, values, name))).rows as Row[],
    };
    try {
      await held.query({ text: 'begin' });
      if (isLong) await held.query({ text: 'set local statement_timeout = 0' });
      const result = await work(sql);
      signal.throwIfAborted();
      await held.query({ text: 'commit' });
      return result;
    } catch (error) {
      await held.rollback();
      throw this.#failure(error);
    }
  }

  /** Rows of one query in batches, with a cursor. Holds one connection until the loop ends. */
  async *stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    batch: number,
    signal: AbortSignal,
  ): AsyncIterable<Row> {
    signal.throwIfAborted();
    using held = await this.#hold();
    try {
      await held.query({ text: 'begin read only' });
      await held.query(statement(`declare rows no scroll cursor for ${text}`, values, undefined));
      for (;;) {
        signal.throwIfAborted();
        const { rows } = await held.query({ text: `fetch forward ${Math.trunc(batch)} from rows` });
        yield* rows as Row[];
        if (rows.length < batch) break;
      }
    } catch (error) {
      throw this.#failure(error);
    } finally {
      await held.rollback();
    }
  }

  /** A connection outside of the pool, for LISTEN and session locks; the caller ends it. */
  async dedicated(): Promise<pg.Client> {
    const client = new pg.Client(connectionConfig(this.#options));
    try {
      await client.connect();
      return client;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Resolves as soon as the server proves that it responds, however busy the pool is. */
  async probe(signal: AbortSignal): Promise<void> {
    try {
      await this.#probe.probe(signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#failure(error);
    }
  }

  #answered<Result>(result: Result): Result {
    this.#probe.answered();
    return result;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#probe[Symbol.dispose]();
    this.#ended ??= Promise.all([this.#pool.end(), this.#groupPool?.end()]).then(() => undefined);
    return this.#ended;
  }

  async #hold(until?: AbortSignal): Promise<HeldConnection> {
    try {
      return new HeldConnection(await this.#pool.connect(), until);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): unknown {
    return postgresFailure(error, `database ${this.#options.database} at ${this.#options.host}:${this.#options.port}`);
  }
}

function openPool(options: PostgresOptions, more: pg.PoolConfig, log: Logger): pg.Pool {
  const pool = new pg.Pool({
    ...connectionConfig(options),
    idleTimeoutMillis: options.idleTimeoutMs,
    statement_timeout: STATEMENT_MS,
    query_timeout: options.answerMs ?? STATEMENT_MS + ANSWER_MS,
    ...more,
  });
  // An idle connection that breaks is replaced by the pool; the next query reports what matters.
  pool.on('error', (err) => log.debug({ err }, 'idle database connection lost'));
  // A broken connection in use fails its statement; an unhandled `error` event would crash the process.
  pool.on('connect', (client) => client.on('error', (err) => log.debug({ err }, 'database connection lost')));
  return pool;
}

const statement = (text: string, values: readonly unknown[], name: string | undefined): pg.QueryConfig => ({
  text,
  values: values as unknown[],
  ...(name === undefined ? {} : { name }),
});

/** The options of every connection. */
export function connectionConfig(options: PostgresOptions): pg.ClientConfig {
  return {
    host: options.host,
    port: options.port,
    user: options.user,
    password: options.password,
    database: options.database,
    application_name: options.applicationName,
    options: `-c search_path=${quoteIdentifier(options.schema)}`,
    connectionTimeoutMillis: CONNECT_MS,
    ...KEEP_ALIVE,
    types,
    ...(options.tls ? { ssl: { ...options.tls } } : {}),
  };
}

/** Quotes an identifier from the configuration; letters, digits and underscore only, at most 63 characters. */
export function quoteIdentifier(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name))
    throw new Failure(
      'rejected',
      `'${name}' is not a valid schema name: at most 63 letters, digits and _, not starting with a digit`,
    );
  return `"${name}"`;
}

/** SQLSTATE of an error that the server reported; undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  const code = (error instanceof Failure ? error.cause : error) as { code?: unknown; severity?: unknown } | undefined;
  return typeof code?.code === 'string' && typeof code.severity === 'string' ? code.code : undefined;
}

/**
 * Lost or refused connections, deadlocks, serialization failures, shutdown and exhausted resources may pass: `transient`. Our
 * own failures are returned unchanged. Anything else is a bug in a statement: `defect`.
 */
export function postgresFailure(error: unknown, where: string): unknown {
  if (error instanceof Failure || (error instanceof Error && error.name === 'AbortError')) return error;
  const state = sqlState(error);
  const text = `${where}: ${messageOf(error)}`;
  // Wrong password (28), no such database (3D): the operator can fix them while we run.
  if (state === undefined || /^(08|40|53|55|57|58|28|3D)/.test(state))
    return new Failure('transient', text, {
      cause: error,
      lack: 'database',
      unreachable: state === undefined || /^(08|57|28|3D)/.test(state),
    });
  return new Failure('defect', text, { cause: error });
}
