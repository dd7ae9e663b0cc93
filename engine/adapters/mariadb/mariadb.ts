// MariaDB access for the adapters of install targets: a bounded pool, transactions, and errors mapped to failure kinds. What is
// a schema elsewhere is a database here.

import { connect, isIP, type Socket } from 'node:net';
import { createPool } from 'mysql2';
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ExecuteValues,
  type Pool,
  type PoolConnection,
  type PoolOptions,
} from 'mysql2/promise';
import { Failure, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { type PostgresOptions, quoteIdentifier, type Sql } from '../postgres/postgres.ts';
import { ProbeConnection, type ProbeLine } from '../postgres/probe-connection.ts';
import { isDeadlock, isFull, mariaDbFailure, serverError } from './mariadb-failure.ts';

/** `database` is the one to connect to, `schema` the one with the tables. Statements name the latter. */
export type MariaDbOptions = PostgresOptions;

const CONNECT_MS = 10_000;
const STATEMENT_MS = 60_000;
/** For the answer to a statement, which the server ends before. After that, the connection counts as lost. */
const ANSWER_MS = STATEMENT_MS + 5_000;
/** Finds out within 20 s that the server's machine is gone. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 } as const;
/** Of each connection. All connections together share max_prepared_stmt_count of the server, 16,382 by default. */
const PREPARED = 64;
/** How often a transaction runs that the server chose to end because of a deadlock. */
const ATTEMPTS = 10;

/** Values are truncated nowhere, times are UTC, and each statement reads what was committed before it. */
const SESSION = [
  `set session time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
    max_statement_time = ${STATEMENT_MS / 1_000}, default_storage_engine = InnoDB`,
  'set session transaction isolation level read committed',
];

export class MariaDb implements Sql, AsyncDisposable {
  /** Each statement commits alone: the server itself writes the commits of several connections to the disk together. */
  readonly grouped: Sql = this;
  readonly #pool: Pool;
  readonly #where: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #probe: ProbeConnection;
  #ended: Promise<void> | undefined;

  constructor(options: MariaDbOptions, clock: Clock, log: Logger) {
    this.#where = placeOf(options);
    this.#clock = clock;
    this.#log = log;
    this.#probe = new ProbeConnection({ open: (lost) => probeLine(options, lost), isFull });
    const pool = createPool({ ...connectionOptions(options), ...poolOptions(options) });
    pool.on('connection', (connection) => {
      connection.on('error', (err) => log.debug({ err }, 'database connection lost'));
      // These are the first statements of a connection: it answers in their order.
      for (const text of SESSION) connection.query(text, (error) => error && connection.destroy());
    });
    this.#pool = pool.promise();
  }

  async query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return this.#withConnection((connection) => this.#inTime(connection, execute<Row>(connection, text, values)));
  }

  /**
   * Commits when `work` resolves, rolls back when it rejects. The signal is checked before the commit. `work` runs again when
   * the server ended the transaction because of a deadlock.
   */
  async transaction<Result>(work: (sql: Sql) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await this.#withConnection((connection) => this.#transact(connection, work, signal));
      } catch (error) {
        if (!isDeadlock(error) || attempt === ATTEMPTS) throw error;
        this.#log.debug({ err: error }, 'a transaction is repeated after a deadlock');
      }
    }
  }

  /** Resolves as soon as the server proves that it responds, however busy the pool is. */
  async probe(signal: AbortSignal): Promise<void> {
    try {
      await this.#probe.probe(signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : mariaDbFailure(error, this.#where);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#probe[Symbol.dispose]();
    this.#ended ??= this.#pool.end();
    return this.#ended;
  }

  async #transact<Result>(
    connection: Connection,
    work: (sql: Sql) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const say = (text: string): Promise<unknown> => this.#inTime(connection, connection.query(text));
    await say('start transaction');
    try {
      const result = await work({
        query: (text, values = []) => this.#inTime(connection, execute(connection, text, values)),
      });
      signal.throwIfAborted();
      await say('commit');
      return result;
    } catch (error) {
      // A connection that is lost is rolled back by the server.
      await say('rollback').catch(() => connection.destroy());
      throw error;
    }
  }

  /** The driver has no time limit for most of what it waits for. */
  async #inTime<Answer>(connection: Connection, answer: Promise<Answer>): Promise<Answer> {
    const late = (): Error => transient(`${this.#where}: no answer within ${ANSWER_MS} ms`, BUSY);
    using limit = deadline(this.#clock, ANSWER_MS, undefined, late);
    try {
      return await unlessAborted(answer, limit.signal);
    } catch (error) {
      if (limit.signal.aborted) connection.destroy();
      throw error;
    }
  }

  async #withConnection<Result>(work: (connection: PoolConnection) => Promise<Result>): Promise<Result> {
    let connection: PoolConnection | undefined;
    try {
      connection = await this.#connect();
      const result = await work(connection);
      this.#probe.answered();
      connection.release();
      return result;
    } catch (error) {
      // Without an answer of the server, nobody knows the state of the connection.
      if (serverError(error) === undefined && !(error instanceof Failure)) connection?.destroy();
      else connection?.release();
      throw mariaDbFailure(error, this.#where);
    }
  }

  /** The pool of the driver waits without limit for a connection that is free. */
  async #connect(): Promise<PoolConnection> {
    const pending = this.#pool.getConnection();
    const late = (): Error => transient(`${this.#where}: no connection within ${CONNECT_MS} ms`, BUSY);
    using limit = deadline(this.#clock, CONNECT_MS, undefined, late);
    try {
      return await unlessAborted(pending, limit.signal);
    } catch (error) {
      if (limit.signal.aborted)
        pending.then(
          (connection) => connection.release(),
          () => undefined,
        );
      throw error;
    }
  }
}

const BUSY = { lack: 'database', unreachable: true } as const;

/** As a prepared statement: the server, not the driver, puts values in their places. */
async function execute<Row extends object>(
  connection: Connection,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  // Undefined is null, as in PostgreSQL.
  const given = values.map((value) => (value ?? null) as ExecuteValues);
  const [rows] = await connection.execute(text, given);
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

const socketTo = ({ host, port }: MariaDbOptions): Socket => connect({ host, port, noDelay: true, ...KEEP_ALIVE });

function connectionOptions(options: MariaDbOptions): ConnectionOptions {
  const { host, port, user, password, database, applicationName, tls } = options;
  return {
    ...{ port, user, password, database },
    stream: () => socketTo(options),
    // Used only to verify the certificate. The driver verifies each IP address as `localhost`. With a dot at its end it takes
    // the address for a name. Node.js removes the dot, and looks for the address in the certificate.
    host: isIP(host) === 0 ? host : `${host}.`,
    // Text is compared byte by byte.
    charset: 'UTF8MB4_BIN',
    timezone: 'Z',
    supportBigNumbers: true,
    connectTimeout: CONNECT_MS,
    maxPreparedStatements: PREPARED,
    connectAttributes: { program_name: applicationName },
    // The driver would compile code for each kind of row, and let the server ask for our files.
    disableEval: true,
    flags: ['-LOCAL_FILES'],
    trace: false,
    ...(tls ? { ssl: { ...tls, verifyIdentity: tls.rejectUnauthorized } } : {}),
  };
}

const poolOptions = ({ poolSize, idleTimeoutMs }: MariaDbOptions): PoolOptions => ({
  connectionLimit: poolSize,
  // Only below the limit, the driver closes connections that are idle.
  maxIdle: poolSize - 1,
  idleTimeout: idleTimeoutMs,
  gracefulEnd: true,
});

const placeOf = ({ host, port, database }: MariaDbOptions): string => `database ${database} at ${host}:${port}`;

/** Quotes an identifier from the configuration: the same names as in PostgreSQL. */
export const quoteName = (name: string): string => `\`${quoteIdentifier(name).slice(1, -1)}\``;

// A connection for a single piece of work: like `withConnection` of PostgreSQL.

/** Fails like `MariaDb`, or with the signal's reason. Nothing is left open when it ends. Not pooled, so it may be changed. */
export async function withMariaDb<Result>(
  options: MariaDbOptions,
  work: (sql: Sql) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const socket = socketTo(options);
  const visit = async (): Promise<Result> => {
    const connection = await open(options, socket);
    const result = await work({ query: (text, values = []) => execute(connection, text, values) });
    await connection.end();
    return result;
  };
  try {
    return await unlessAborted(visit(), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw mariaDbFailure(error, placeOf(options));
  } finally {
    socket.destroy();
  }
}

async function open(options: MariaDbOptions, socket: Socket): Promise<Connection> {
  const connection = await createConnection({ ...connectionOptions(options), stream: socket });
  connection.on('error', () => undefined);
  for (const text of SESSION) await connection.query(text);
  return connection;
}

function probeLine(options: MariaDbOptions, lost: () => void): ProbeLine {
  const socket = socketTo(options).once('close', lost);
  const connected = open(options, socket);
  connected.catch(() => undefined);
  return {
    ask: async () => (await connected).query('select 1'),
    close: () => void socket.destroy(),
  };
}
