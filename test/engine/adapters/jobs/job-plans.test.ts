// A connection keeps the plans that it made while a queue was empty. They must still look rows up one by one when it is full.

import t from 'tap';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { ClaimedJob } from '../../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { cacheDatabase, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const ROWS = 20_000;
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;

const at = await cacheDatabase(t);
const { instance } = await engineProcess(t, at);
/** Of one connection, which has the plans. */
const db = new Postgres(
  { ...at, schema: 'cache', poolSize: 1, idleTimeoutMs: 60_000, applicationName: 'plans' },
  silentLogger(),
);
t.teardown(() => db[Symbol.asyncDispose]());
const jobs = new PostgresJobs(db, instance, systemClock);
const completeAndFetch = (claimed: readonly ClaimedJob[], more = {}) =>
  jobs.completeAndFetch(
    claimed.map((job) => ({ job, outcome: { kind: 'done' } })),
    { ...CLAIM, limit: 40, ...more },
    signal,
  );

/** Pages of tables and indexes that were read so far. */
async function pagesRead(): Promise<number> {
  await db.query('select pg_stat_force_next_flush()');
  const [row] = await db.query<{ pages: number }>(
    `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as pages
     from pg_statio_user_tables where relname in ('job', 'lease')`,
  );
  return row?.pages ?? 0;
}

t.test('a claim and its completions read few pages, whatever the tables had when they were planned', async (t) => {
  for (const table of ['job', 'lease']) {
    // An analysis would make new plans.
    await db.query(`alter table ${table} set (autovacuum_enabled = off)`);
    await db.query(`vacuum (analyze) ${table}`);
  }
  const first = { lane: 'import', dataset: 'first' as DatasetId, owner: '1' as UserId, eventId: 1 } as const;
  await jobs.enqueue([{ ...first, source: 'api' }], signal);
  await completeAndFetch(await completeAndFetch([]), { crowdedOwners: ['1'] });
  await db.query(
    `insert into job (lane, dataset_id, rank, owner, event_id, source)
     select 'import', 'd' || n, 2, 1 + n % 100, n, 'api' from generate_series(1, $1::int) n`,
    [ROWS],
  );
  await db.query(`insert into lease select 'other' || n, null, 1, now() from generate_series(1, $1::int) n`, [ROWS]);
  let claimed: readonly ClaimedJob[] = [];
  for (const more of [{}, {}, { crowdedOwners: ['7'] }]) {
    const before = await pagesRead();
    claimed = await completeAndFetch(claimed, more);
    const pages = (await pagesRead()) - before;
    t.comment(`${pages} pages for ${claimed.length} jobs`);
    t.equal(claimed.length, 40);
    t.ok(pages < 5_000, `${pages} pages`);
  }
});
