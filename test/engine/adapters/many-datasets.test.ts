// 100,000 datasets in the cache: every listing and every report of the API, by every filter, from indexes alone.

import t from 'tap';
import { PostgresDatasetQueries } from '../../../engine/adapters/dataset-queries-postgres.ts';
import { PostgresDatasetReports } from '../../../engine/adapters/dataset-reports-postgres.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { fullMetadataOf, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { plansOf, recordingSql } from '../../support/statement-plans.ts';

const DATASETS = 100_000;
const OWNER = '4242' as UserId;
const RECIPIENT = '4343' as UserId;
const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const recording = recordingSql(db);
const queries = new PostgresDatasetQueries(recording);
const reports = new PostgresDatasetReports(recording);

t.before(async () => {
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, created, upload_status, import_status, meta_etag, meta_modified_ms,
       data_etag, data_modified_ms)
     select 'many' || n, case when n % 100 = 0 then $1::numeric else 1000000 + n end, 'many' || n, 0, 'live', 't', '1',
       $2::jsonb, case when n % 10 = 1 then 'public' else 'private' end, 'n', now() - n * interval '1 second',
       'success', case when n % 1000 = 7 then 'failed' else 'complete' end, 'e', 1, 'e', 1
     from generate_series(1, ${DATASETS}) n`,
    [OWNER, JSON.stringify(fullMetadataOf(OWNER, 'many1' as never))],
  );
  await db.query(
    `insert into dataset_target select d.dataset_id, x from dataset d, unnest($1::text[]) x
     where x = $2 or right(d.dataset_id, 1) ~ '[02468]'`,
    [[PLASMO, TOXO], PLASMO],
  );
  await db.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select dataset_id, $1, 'data', case when dataset_id like '%333' then 'failed-installation' else 'complete' end
     from dataset`,
    [PLASMO],
  );
  await db.query(
    `insert into dataset_share select 'many' || n * 500, $1::numeric, 'grant', 'accept' from generate_series(1, 200) n`,
    [RECIPIENT],
  );
  await db.query(
    `insert into dataset_share select 'many' || n, 5000000 + n, 'grant', null from generate_series(1, ${DATASETS}) n`,
  );
  await db.query('vacuum (analyze)');
});

/** Reads up to 250 rows, which is more than one page, and gives the plans of what was asked. */
async function plans(rows: AsyncIterable<unknown>): Promise<{ readonly count: number; readonly plans: string[] }> {
  recording.statements.length = 0;
  let count = 0;
  for await (const _row of rows) if (++count === 250) break;
  return { count, plans: await plansOf(db, recording.statements) };
}

const each = { owned: 250, shared: 200, any: 250, community: 250 } as const;
for (const [ownership, expected] of Object.entries(each) as [keyof typeof each, number][])
  for (const target of [undefined, TOXO])
    t.test(`datasets ${ownership}${target ? ' of one target' : ''}`, async (t) => {
      const viewer = ownership === 'shared' ? RECIPIENT : OWNER;
      const found = await plans(queries.list({ viewer, ownership, ...(target ? { target } : {}) }, signal));
      if (!target) t.equal(found.count, expected);
      for (const plan of found.plans)
        t.notMatch(plan, /Seq Scan on (dataset|dataset_target|dataset_share|install_status)\b/, plan);
    });

t.test('share offers', async (t) => {
  const found = await plans(queries.offers({ recipient: RECIPIENT, status: 'accepted' }, signal));
  t.equal(found.count, 200);
  for (const plan of found.plans) t.notMatch(plan, /Seq Scan on (dataset|dataset_share)\b/, plan);
});

t.test('reports of all datasets, failed imports and stuck installs', async (t) => {
  for (const rows of [
    reports.all({ includeDeleted: true }, { offset: 0, limit: 250 }, signal),
    reports.all({ includeDeleted: false }, { offset: 90_000, limit: 250 }, signal),
    reports.all({ includeDeleted: false, target: TOXO.toLowerCase() }, { offset: 0, limit: 250 }, signal),
    reports.failedImports({ order: 'desc' }, { offset: 0, limit: 250 }, signal),
    reports.failedImports({ order: 'asc', after: new Date(0) }, { offset: 0, limit: 250 }, signal),
    reports.stuckInstalls('failed-installation', signal),
  ]) {
    const found = await plans(rows);
    t.ok(found.count >= 100, `${found.count} rows`);
    for (const plan of found.plans) t.notMatch(plan, /Seq Scan on (dataset|install_status)\b/, plan);
  }
});
