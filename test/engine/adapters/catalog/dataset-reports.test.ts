import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetReports } from '../../../../engine/adapters/datasets/dataset-reports-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { ReportPage } from '../../../../engine/ports/dataset-queries.ts';
import { datasetReportsConformance, stuckInstallsConformance } from '../../../conformance/dataset-reports.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeDatasetReports } from '../../../fakes/fake-dataset-reports.ts';
import { FakeLeaseTable } from '../../../fakes/fake-lease-table.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { fullMetadataOf, PLASMO, TOXO } from '../../../support/dataset-samples.ts';
import { plansOf, recordingSql } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const recording = recordingSql(db);
const reports = new PostgresDatasetReports(recording);

t.test('PostgreSQL', async (t) => {
  datasetReportsConformance(t, async () => {
    await db.query('delete from dataset');
    return { reports, catalog: new PostgresCatalog(db), grant: (name) => grantLease(db, name) };
  });
});

t.test('fake', async (t) => {
  stuckInstallsConformance(t, async () => {
    const { grant, holds } = new FakeLeaseTable();
    const catalog = new FakeCatalog(holds);
    return { reports: new FakeDatasetReports(catalog), catalog, grant };
  });
});

t.test('pages go on to the microsecond', async (t) => {
  await db.query('delete from dataset');
  await fill(250, "'2026-01-01T00:00:00.123000Z'::timestamptz + n * interval '1 microsecond'");
  const seen = [];
  for await (const { dataset } of reports.all({ includeDeleted: false }, { offset: 0 }, signal)) seen.push(dataset);
  t.strictSame(
    seen,
    Array.from({ length: 250 }, (_, n) => `bulk${n + 1}`),
  );
});

t.test('of twenty thousand datasets', async (t) => {
  await db.query('delete from dataset');
  await fill(20_000, "'2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute'");
  await db.query(`update dataset set state = 'deleted' where revision = 0 and dataset_id like '%00'`);
  await db.query(`update dataset set import_status = 'failed' where dataset_id like '%50'`);
  await db.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select dataset_id, t, k, case when dataset_id like '%25' and t = $2 then 'failed-installation'
       when dataset_id like '%75' and k = 'data' then 'missing-dependency' else 'complete' end
     from dataset, unnest(array[$1, $2]) t, unnest('{meta,data}'::text[]) k`,
    [PLASMO, TOXO],
  );
  await db.query('vacuum (analyze)');

  const planned = async (read: () => Promise<unknown>): Promise<readonly string[]> => {
    recording.statements.length = 0;
    await read();
    const first = new Map(recording.statements.map((statement) => [statement.text, statement]));
    return plansOf(db, [...first.values(), ...recording.statements.slice(-1)]);
  };
  const drain = async (rows: AsyncIterable<unknown>, atMost = Number.POSITIVE_INFINITY): Promise<number> => {
    let count = 0;
    for await (const _row of rows) if (++count === atMost) break;
    return count;
  };
  const PAGES: readonly ReportPage[] = [
    { offset: 0, limit: 100 },
    { offset: 19_000, limit: 100 },
    { offset: 0, limit: 250 },
    { offset: 0, limit: 1_000_000 },
  ];

  t.test('the pages of all are read from the index of creation', async (t) => {
    for (const filter of [{}, { target: 'plasmosite' }])
      for (const page of PAGES)
        for (const includeDeleted of [true, false])
          for (const plan of await planned(() =>
            drain(reports.all({ ...filter, includeDeleted }, page, signal), 150),
          )) {
            // The few statuses of one dataset may be sorted, datasets may not.
            t.notMatch(plan, /Seq Scan|Sort Key: (?!i\.)/, plan);
            if (!/spelling/.test(plan)) t.match(plan, /Index (Only )?Scan using dataset_created/, plan);
          }
  });

  t.test('all of them are 203 pages of one statement each: the first ones are short', async (t) => {
    recording.statements.length = 0;
    t.equal(await drain(reports.all({ includeDeleted: true }, { offset: 0 }, signal)), 20_000);
    t.equal(recording.statements.length, 203);
  });

  t.test('a total needs no table of datasets', async (t) => {
    for (const [filter, total] of [
      [{ includeDeleted: true }, 20_000],
      [{ includeDeleted: false }, 19_800],
      [{ includeDeleted: false, target: 'TOXOSITE' }, 9_800],
    ] as const) {
      t.equal(await reports.count(filter, signal), total);
      // The table of targets is as narrow as its index.
      for (const plan of await planned(() => reports.count(filter, signal)))
        t.notMatch(plan, /Seq Scan on dataset\b/, plan);
    }
  });

  t.test('failed imports are found by their index', async (t) => {
    for (const order of ['asc', 'desc'] as const)
      for (const more of [{}, { owner: '7' as UserId, before: new Date('2026-01-09'), after: new Date('2026-01-02') }])
        for (const plan of await planned(() =>
          drain(reports.failedImports({ order, ...more }, { offset: 0, limit: 150 }, signal)),
        )) {
          // Of one owner, the list of the owner's datasets may be the shorter one.
          t.match(
            plan,
            'owner' in more ? /dataset_(import_failed|owned)/ : /Index Scan (Backward )?using dataset_import_failed/,
          );
          t.notMatch(plan, /Seq Scan/, plan);
        }
    t.equal(await drain(reports.failedImports({ order: 'asc' }, { offset: 0 }, signal)), 200);
  });

  t.test('stuck installs are found by their index', async (t) => {
    for (const status of ['failed-installation', 'missing-dependency'] as const) {
      for (const plan of await planned(() => drain(reports.stuckInstalls(status, signal)))) {
        t.match(plan, /Index (Only )?Scan using install_status_open/, plan);
        t.notMatch(plan, /Seq Scan|Sort Key: (?!i_1\.)/, plan);
      }
      t.equal(await drain(reports.stuckInstalls(status, signal)), 200);
    }
  });

  t.test('the cache says since when it knows a dataset', async (t) => {
    const before = Date.now() - 600_000;
    const inserted = (await reports.find('bulk1' as DatasetId, signal))?.inserted.getTime() ?? 0;
    t.ok(inserted > before && inserted <= Date.now());
  });
});

/** Datasets `bulk1`.. of 200 owners, on one target or on two; `created` is an expression of n. */
async function fill(count: number, created: string): Promise<void> {
  const metadata = fullMetadataOf('7' as UserId, 'bulk1' as DatasetId);
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, created, upload_status, import_status, meta_etag, meta_modified_ms,
       data_etag, data_modified_ms)
     select 'bulk' || n, 1 + n % 200, 'bulk' || n, 0, 'live', 't', '1', $2::jsonb, 'private', 'n', ${created},
       'success', 'complete', 'e', 1, 'e', 1
     from generate_series(1, $1) n`,
    [count, JSON.stringify(metadata)],
  );
  await db.query('insert into dataset_target select dataset_id, $1 from dataset', [PLASMO]);
  await db.query(
    `insert into dataset_target select dataset_id, $1 from dataset where right(dataset_id, 1) ~ '[02468]'`,
    [TOXO],
  );
}
