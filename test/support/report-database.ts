// A database with the tables of the report job service, and processes on it, for tests.

import { migrate, reportMigrations } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { PostgresReportCollections } from '../../engine/adapters/report/collections.ts';
import { PostgresReportJobs } from '../../engine/adapters/report/jobs.ts';
import { PostgresReportExpiry, PostgresReportQueue } from '../../engine/adapters/report/queue.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { type TestDatabase, testDatabase } from './database.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

const signal = new AbortController().signal;

/** Empty and migrated; it is gone when the test ends. */
export async function reportDatabase(t: Teardown): Promise<TestDatabase> {
  const at = await testDatabase(t);
  const db = connect(at);
  await migrate(db, 'report', await reportMigrations(), signal);
  await db[Symbol.asyncDispose]();
  return at;
}

/** A process with a pool of its own and an instance; closed when the test ends. */
export async function reportProcess(t: Teardown, at: TestDatabase) {
  const db = connect(at);
  const gap = { onGap: () => undefined };
  const instance = await PostgresInstance.open(db, gap, systemClock, silentLogger(), signal);
  t.teardown(async () => {
    await instance[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });
  return {
    db,
    instance,
    jobs: new PostgresReportJobs(db),
    collections: new PostgresReportCollections(db),
    queue: new PostgresReportQueue(db, instance),
    expiry: new PostgresReportExpiry(db),
  };
}

const connect = (at: TestDatabase): Postgres =>
  new Postgres(
    { ...at, schema: 'report', poolSize: 4, idleTimeoutMs: 10_000, applicationName: 'longshore-test' },
    silentLogger(),
  );
