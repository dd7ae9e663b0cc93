import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetIndex } from '../../../../engine/adapters/catalog/dataset-index-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../../../engine/model/object-key.ts';
import { datasetIndexConformance } from '../../../conformance/dataset-index.ts';
import { paged } from '../../../conformance/store-order.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeDatasetIndex } from '../../../fakes/fake-dataset-index.ts';
import { FakeLeaseTable } from '../../../fakes/fake-lease-table.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { fullMetadataOf, newAddress, PLASMO, TOXO } from '../../../support/dataset-samples.ts';
import { plansOf, recordingSql } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const recording = recordingSql(db);
const index = new PostgresDatasetIndex(recording);

t.test('PostgreSQL', async (t) => {
  datasetIndexConformance(t, async () => {
    await db.query('delete from dataset');
    await db.query('delete from job');
    return {
      index,
      catalog: new PostgresCatalog(db),
      uploads: new PostgresUploads(db, { instance: 1 }),
      grant: (name) => grantLease(db, name),
      addJob: async ({ dataset, owner }, state) => {
        await db.query(
          `insert into job (lane, dataset_id, rank, owner, event_id, source, state, failure)
           values ('import', $1, 2, $2, 1, 'api', $3, 'defect')`,
          [dataset, owner, state],
        );
      },
    };
  });
});

t.test('fake', async (t) => {
  datasetIndexConformance(t, async () => {
    const { grant, holds } = new FakeLeaseTable();
    const catalog = new FakeCatalog(holds);
    const uploads = new FakeUploads(catalog, { holds, enqueueJobs: async () => undefined });
    const jobs: { dataset: DatasetId; state: 'queued' | 'delayed' | 'dead' }[] = [];
    return {
      ...{ index: new FakeDatasetIndex(catalog, () => jobs), catalog, uploads, grant },
      addJob: async ({ dataset }, state) => void jobs.push({ dataset, state }),
    };
  });
});

t.test('the row version grows when pruning begins', async (t) => {
  const { dataset } = await fill(t, 1, 'deleted').then(([at]) => at as DatasetAddress);
  t.same(await index.beginPruning([dataset], signal), new Map([[dataset, 'begun']]));
  t.same(await db.query('select state, row_version from dataset where dataset_id = $1', [dataset]), [
    { state: 'pruning', row_version: 2 },
  ]);
});

t.test('pruning does not begin for a dataset that somebody changes, and others do not wait for it', async (t) => {
  const [changed, other] = (await fill(t, 2, 'deleted')).map(({ dataset }) => dataset);
  if (!changed || !other) throw new Error('not made');
  await db.transaction(async (sql) => {
    await sql.query('select from dataset where dataset_id = $1 for update', [changed]);
    const begun = await index.beginPruning([changed, other], signal);
    t.same(
      begun,
      new Map([
        [changed, 'locked'],
        [other, 'begun'],
      ]),
    );
  }, signal);
  t.same(await index.beginPruning([changed], signal), new Map([[changed, 'begun']]));
});

t.test('a dataset may have any number of targets', async (t) => {
  await db.query('delete from dataset');
  const [at] = await fill(t, 1, 'live');
  const targets = Array.from({ length: 200 }, (_, n) => `Target-with-a-long-name-${n}`).sort();
  await db.query('update dataset set install_targets = $2 where dataset_id = $1', [at?.dataset, targets]);
  const [found] = await index.page(undefined, 1, signal);
  t.strictSame(found?.installTargets, targets);
});

t.test('of ten thousand datasets', async (t) => {
  await db.query('delete from dataset');
  const all = await fill(t, 10_000, 'live');
  const retired = await fill(t, 100, 'superseded');
  const expected = [...all, ...retired].map(datasetPrefix).sort();

  t.test('each page is one statement, and together they are all of them', async (t) => {
    recording.statements.length = 0;
    const seen = (await paged(index, 1_000)).flat();
    t.strictSame(seen.map(datasetPrefix), expected);
    t.ok(seen.every(({ installTargets, sync }) => installTargets.length === 2 && Object.keys(sync).length === 3));
    t.equal(recording.statements.length, 11);
  });

  t.test('a page is read from the index of the order, wherever it begins', async (t) => {
    for (const plan of await plansOf(db, recording.statements)) {
      t.match(plan, /Index Scan using dataset_store_order/, plan);
      t.notMatch(plan, /Seq Scan|-> +(Incremental )?Sort/, plan);
    }
  });

  t.test('the forgotten are found by an index', async (t) => {
    recording.statements.length = 0;
    const one = all[5_000]?.dataset;
    await db.query(`update dataset set import_status = 'queued' where dataset_id = $1`, [one]);
    const found = await index.forgotten(undefined, 100, signal);
    t.strictSame(
      found.map(({ dataset }) => dataset),
      [one],
    );
    for (const plan of await plansOf(db, recording.statements)) {
      t.match(plan, /dataset_import_open/, plan);
      t.notMatch(plan, /Seq Scan on dataset/, plan);
    }
  });

  t.test('the retired are found by an index', async (t) => {
    recording.statements.length = 0;
    const found = await index.retired('superseded', undefined, 1_000, signal);
    t.strictSame(
      found.map(({ dataset }) => dataset),
      retired.map(({ dataset }) => dataset).sort(),
    );
    for (const plan of await plansOf(db, recording.statements)) {
      t.match(plan, /dataset_not_live/, plan);
      t.notMatch(plan, /Seq Scan/, plan);
    }
  });
});

/** Datasets of 200 owners in no order, with targets and versions. */
async function fill(t: Test, count: number, state: string): Promise<DatasetAddress[]> {
  const owners = Array.from({ length: 200 }, () => newAddress().owner);
  const all = Array.from({ length: count }, (_, n) => newAddress(owners[(n * 7919) % 200] as UserId));
  const ids: DatasetId[] = all.map(({ dataset }) => dataset);
  const metadata = fullMetadataOf(owners[0] as UserId, ids[0] as DatasetId);
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, upload_status, import_status)
     select x.id, x.owner, x.id, 0, $3, 't', '1', $4::jsonb, 'private', 'n', 'success', 'complete'
     from unnest($1::text[], $2::numeric[]) x (id, owner)`,
    [ids, all.map(({ owner }) => owner), state, JSON.stringify(metadata)],
  );
  for (const target of [PLASMO, TOXO])
    await db.query('insert into dataset_target select unnest($1::text[]), $2', [ids, target]);
  await db.query(
    `update dataset set install_targets = $2, meta_etag = 'e', meta_modified_ms = 1, data_etag = 'e', data_modified_ms = 1,
       shares_etag = 'e', shares_modified_ms = 1 where dataset_id = any ($1)`,
    [ids, [PLASMO, TOXO].sort()],
  );
  await db.query('analyze');
  t.teardown(() => db.query('delete from dataset where dataset_id = any ($1)', [ids]));
  return all;
}
