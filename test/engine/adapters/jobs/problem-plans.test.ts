// Problems are few among many datasets and jobs: listing them must not read what has not failed.

import t from 'tap';
import { PostgresProblems } from '../../../../engine/adapters/jobs/problems-postgres.ts';
import { cacheMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { openDatabase } from '../../../support/database.ts';

const DATASETS = 30_000;
const EACH = 50;
const signal = new AbortController().signal;

// One connection, which reports its statistics when it is told to.
const db = await openDatabase(t, 'cache', 1);
await migrate(db, 'cache', await cacheMigrations(), signal);
await db.query(
  `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
     upload_status, import_status, import_messages)
   select 'd' || n, 1 + n % 100, 'd' || n, 0, 'live', 'genelist', '1.0', '{}', 'private', 'name', 'success',
     case when n <= $2 then 'failed' else 'complete' end, case when n <= $2 then array['no room at ' || n] else '{}' end
   from generate_series(1, $1::integer) n`,
  [DATASETS, EACH],
);
await db.query(
  `insert into install_status (dataset_id, target_id, kind, status, messages)
   select 'd' || n, target, 'data', case when n > $1 - $2 then 'failed-installation' else 'complete' end, '{}'
   from generate_series(1, $1::integer) n, unnest(array['AlphaDB', 'BetaDB']) target`,
  [DATASETS, EACH],
);
await db.query(
  `insert into job (lane, dataset_id, rank, owner, event_id, source)
   select 'install', 'd' || n, 4, 1, n, 'api' from generate_series(1, $1::integer) n`,
  [DATASETS],
);
await db.query(
  `update job set state = 'dead', run_at = 'infinity', failure = 'defect', message = 'a bug' where dataset_id in (
     select 'd' || n from generate_series($1::integer + 1, $1::integer * 2) n)`,
  [EACH],
);
// Jobs that will be retried by themselves are no problems, however many they are.
await db.query(
  `update job set state = 'delayed', run_at = now() + interval '1 hour' where dataset_id in (
     select 'd' || n from generate_series($1::integer * 2 + 1, 10000) n)`,
  [EACH],
);
await db.query('vacuum (analyze) dataset, install_status, job, discard, job_history');
const problems = new PostgresProblems(db);

async function pagesRead(): Promise<number> {
  await db.query('select pg_stat_force_next_flush()');
  const [row] = await db.query<{ pages: number }>(
    `select (select sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)
     from pg_statio_user_tables where relname in ('dataset', 'job', 'install_status'))::integer as pages`,
  );
  return row?.pages ?? 0;
}

t.test('a list, the causes and the counts read little more than the problems', async (t) => {
  const all = EACH * 4;
  const reads: readonly (readonly [string, () => Promise<number>])[] = [
    ['list', async () => (await problems.page({}, { limit: 1_000 }, signal)).problems.length],
    ['causes', async () => (await problems.causes({}, 10, signal)).reduce((sum, { count }) => sum + count, 0)],
    ['counts', async () => [...(await problems.counts({}, signal)).values()].reduce((a, b) => a + b, 0)],
  ];
  for (const [what, read] of reads) {
    const before = await pagesRead();
    t.equal(await read(), all, what);
    const pages = (await pagesRead()) - before;
    t.comment(`${what}: ${pages} pages`);
    t.ok(pages < 20 * all, `${what}: ${pages} pages`);
  }
});
