// An empty database for one test file, dropped with it. The server is the one of run/suite.ts; a file run by hand
// (`npx tap test/x.test.ts`) starts a server of its own.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from './ports.ts';

export interface TestDatabase {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** As somebody who may create databases. */
export type TestServer = Omit<TestDatabase, 'database'>;

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** Creates an empty database, on the server of all tests or on this one; it is dropped by force when the test ends. */
export async function testDatabase(t: Teardown, on?: TestServer): Promise<TestDatabase> {
  const server = on ?? (await testServer(t));
  // With a label, whoever cuts a test file short can drop what it left.
  const database = `t_${process.env.LONGSHORE_TEST_LABEL ?? ''}${randomBytes(6).toString('hex')}`;
  await asAdmin(server, `create database ${database}`);
  t.teardown(() => asAdmin(server, `drop database if exists ${database} with (force)`));
  return { ...server, database };
}

const OPENED = new WeakMap<Postgres, PostgresOptions>();

/** Another pool on the same database, closed when the test ends; the same where it stands for one. */
export function anotherPool(t: Teardown, db: Postgres): Postgres {
  const options = OPENED.get(db);
  if (!options) return db;
  const other = new Postgres(options, silentLogger());
  t.teardown(() => other[Symbol.asyncDispose]());
  return other;
}

/**
 * A pool on an empty database of its own, with this schema in its search path; closed when the test ends. Besides several
 * connections it has one for groups, as in the program.
 */
export async function openDatabase(t: Teardown, schema: string, poolSize = 4): Promise<Postgres> {
  const at = await testDatabase(t);
  const size = poolSize > 1 ? { poolSize: poolSize + 1, groups: true } : { poolSize };
  const options = { ...at, schema, ...size, idleTimeoutMs: 1_000, applicationName: 'test' };
  const db = new Postgres(options, silentLogger());
  OPENED.set(db, options);
  t.teardown(() => db[Symbol.asyncDispose]());
  return db;
}

/** A process on the cache database: an instance id with its session lock, until it dies or the test ends. */
export async function livingProcess(
  t: Teardown,
  db: Postgres,
): Promise<{ readonly instance: number; readonly die: () => Promise<void> }> {
  const session = await db.dedicated();
  let ended = false;
  const die = async (): Promise<void> => {
    if (!ended) await session.end();
    ended = true;
  };
  t.teardown(die);
  const { rows } = await session.query("select nextval('instance_id')::integer as id");
  const instance: number = rows[0].id;
  await session.query('select pg_advisory_lock(instance_class(), $1)', [instance]);
  return { instance, die };
}

async function testServer(t: Teardown): Promise<TestServer> {
  const given = process.env.LONGSHORE_TEST_POSTGRES;
  const password = process.env.LONGSHORE_TEST_PASSWORD ?? 'longshore-tests';
  if (given !== undefined) return { host: '127.0.0.1', port: Number(given), user: 'postgres', password };
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const server = await startEmbeddedPostgres(
    { dir, port: await freePort(), password, unsafeFast: true },
    systemClock,
    silentLogger(),
    new AbortController().signal,
  );
  t.teardown(async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });
  return { host: '127.0.0.1', port: server.port, user: 'postgres', password };
}

async function asAdmin(server: TestServer, sql: string): Promise<void> {
  const client = new pg.Client({ ...server, database: 'postgres' });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
