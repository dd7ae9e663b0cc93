// Processes on one cache database, as the engine's adapters see them, for tests.

import { cacheMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { type InstanceGap, PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { JobView } from '../conformance/jobs.ts';
import { type TestDatabase, testDatabase } from './database.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface EngineProcess {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
}

const signal = new AbortController().signal;

/** An empty, migrated cache database; it is gone when the test ends. */
export async function cacheDatabase(t: Teardown): Promise<TestDatabase> {
  const at = await testDatabase(t);
  const db = connect(at);
  await migrate(db, 'cache', await cacheMigrations(), signal);
  await db[Symbol.asyncDispose]();
  return at;
}

/** Makes a migrated cache database empty again: quicker than a new one for every test. */
export async function emptyCache(at: TestDatabase): Promise<void> {
  const db = connect(at);
  await db.query(
    'truncate lease, job, event_log, object_change, dataset, pause, pause_wait, job_history, discard, dataset_event cascade',
  );
  await db[Symbol.asyncDispose]();
}

/** A process with a pool of its own and an instance; closed when the test ends. */
export async function engineProcess(
  t: Teardown,
  at: TestDatabase,
  onGap: (gap: InstanceGap) => void = () => undefined,
): Promise<EngineProcess> {
  const db = connect(at);
  const instance = await PostgresInstance.open(db, { onGap }, systemClock, silentLogger(), signal);
  t.teardown(async () => {
    await instance[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });
  return { db, instance };
}

/** The jobs as an administrator sees them, oldest first. */
export async function jobsSeen(db: Postgres): Promise<readonly JobView[]> {
  const rows = await db.query<{ [K in keyof JobView]: Exclude<JobView[K], undefined> | null }>(
    `select lane, dataset_id as dataset, state, event_id as "eventId", again, alone, attempts, crashes, failure, message
     from job order by id`,
  );
  return rows.map(
    (row) => ({ ...row, failure: row.failure ?? undefined, message: row.message ?? undefined }) as JobView,
  );
}

const connect = (at: TestDatabase): Postgres =>
  new Postgres(
    { ...at, schema: 'cache', poolSize: 4, idleTimeoutMs: 10_000, applicationName: 'longshore-test' },
    silentLogger(),
  );
