// A PostgreSQL connection for a single piece of work. Unlike a pool it can be aborted at any time: when the signal aborts, the
// socket is closed, even during connecting.

import { Socket } from 'node:net';
import pg from 'pg';
import { unlessAborted } from '../../runtime/wait.ts';
import { connectionConfig, type PostgresOptions, postgresFailure, type Sql } from './postgres.ts';

const SINGLE_STATEMENT_MS = 10_000;

/** Fails like `Postgres`, or with the signal's reason. Nothing is left open when it ends. */
export async function withConnection<Result>(
  options: PostgresOptions,
  work: (sql: Sql) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const socket = new Socket();
  const client = new pg.Client({
    ...connectionConfig(options),
    statement_timeout: SINGLE_STATEMENT_MS,
    stream: () => socket,
  });
  // A broken connection fails its statement; an unhandled `error` event would crash the process.
  client.on('error', () => undefined);
  const sql: Sql = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      (await client.query(text, values as unknown[])).rows as Row[],
  };
  const visit = async (): Promise<Result> => {
    await client.connect();
    const result = await work(sql);
    await client.end();
    return result;
  };
  try {
    return await unlessAborted(visit(), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw postgresFailure(error, `database ${options.database} at ${options.host}:${options.port}`);
  } finally {
    socket.destroy();
  }
}
