import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetQueries } from '../../../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../../engine/model/metadata.ts';
import type { StoredShare } from '../../../../engine/ports/catalog.ts';
import { catalogConformance, type KeptOfDataset } from '../../../conformance/catalog.ts';
import { FakeCatalog } from '../../../fakes/fake-catalog.ts';
import { FakeLeaseTable } from '../../../fakes/fake-lease-table.ts';
import { FakeUploads } from '../../../fakes/fake-uploads.ts';
import { cacheDatabase, grantLease, releaseLease } from '../../../support/cache-database.ts';
import { metadataOf, newAddress, newUser, PLASMO } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const grant = (name: string) => grantLease(db, name);

t.test('PostgreSQL', async (t) => {
  const uploads = new PostgresUploads(db, { instance: 1 });
  catalogConformance(t, async () => ({
    catalog,
    uploads,
    kept: async (dataset) => ({ files: await filesOf(dataset), shares: await wordsOf(dataset) }),
    grant,
    release: (lease) => releaseLease(db, lease),
  }));
});

t.test('fake', async (t) => {
  catalogConformance(t, async () => {
    const { holds, grant, release } = new FakeLeaseTable();
    const catalog = new FakeCatalog(holds);
    const uploads = new FakeUploads(catalog, { holds, enqueueJobs: async () => undefined });
    const kept = async (dataset: DatasetId): Promise<KeptOfDataset> => {
      const { files = {}, shares = [] } = catalog.datasets.get(dataset) ?? {};
      const sorted = Object.entries(files).map(([folder, all]) => [folder, all.toSorted(byName)] as const);
      return { files: Object.fromEntries(sorted.filter(([, all]) => all.length > 0)), shares };
    };
    return { catalog, uploads, kept, grant, release };
  });
});

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

async function filesOf(dataset: DatasetId): Promise<KeptOfDataset['files']> {
  const rows = await db.query<{ folder: 'upload'; name: string; size: number }>(
    'select folder, name, size from dataset_file where dataset_id = $1 order by name collate "C"',
    [dataset],
  );
  return Object.fromEntries(
    Object.entries(Object.groupBy(rows, ({ folder }) => folder)).map(([folder, files]) => [
      folder,
      files.map(({ name, size }) => ({ name, size })),
    ]),
  );
}

async function wordsOf(dataset: DatasetId): Promise<StoredShare[]> {
  const rows = await db.query<{ recipient: UserId; offer: 'grant' | null; receipt: 'accept' | null }>(
    `select recipient_id::text as recipient, offer, receipt from dataset_share
     where dataset_id = $1 order by recipient_id`,
    [dataset],
  );
  return rows.map(({ recipient, offer, receipt }) => ({
    recipient,
    ...(offer ? { offer } : {}),
    ...(receipt ? { receipt } : {}),
  }));
}

async function registered(t: Test, more: Partial<DatasetMetadata> = {}) {
  const at = newAddress();
  const lease = await grant(at.dataset);
  await catalog.register(at, metadataOf(at.owner, more), [], lease, signal);
  t.teardown(() => db.query('delete from dataset where dataset_id = $1', [at.dataset]));
  return { at, lease };
}

const broken = { set: 'install', target: 'X', kind: 'data', status: 'no-such-status', messages: [] } as never;
const refusedAsBroken = { kind: 'defect', message: /install_status_status_check/ };

t.test('a write that fails in part leaves nothing of itself', async (t) => {
  const { at, lease } = await registered(t);
  const before = await catalog.find(at.dataset, signal);
  const written = catalog.write(at.dataset, lease, [{ set: 'state', state: 'deleting' }, broken], signal);
  await t.rejects(written, refusedAsBroken);
  t.strictSame(await catalog.find(at.dataset, signal), before);
});

t.test('a dataset whose registration fails in part has no row', async (t) => {
  const at = newAddress();
  const lease = await grant(at.dataset);
  const files = [{ name: 'a', size: 1 }];
  const parts = [{ set: 'uploadFiles', files }, { set: 'documentFiles', files }, broken] as const;
  await t.rejects(catalog.register(at, metadataOf(at.owner), parts, lease, signal), refusedAsBroken);
  for (const table of ['dataset', 'dataset_target', 'dataset_file'])
    t.same(await db.query(`select * from ${table} where dataset_id = $1`, [at.dataset]), [], table);
  t.same(await db.query('select * from owner_usage where owner_id = $1::numeric and bytes <> 0', [at.owner]), []);
});

t.test('front ends read shares as granted and accepted', async (t) => {
  const { at, lease } = await registered(t);
  const [ann, bob, cay, dan] = Array.from({ length: 4 }, newUser).sort() as [UserId, UserId, UserId, UserId];
  const shares: StoredShare[] = [
    { recipient: ann, offer: 'grant', receipt: 'accept' },
    { recipient: bob, offer: 'grant' },
    { recipient: cay, offer: 'revoke', receipt: 'accept' },
    { recipient: dan, receipt: 'reject' },
  ];
  await catalog.write(at.dataset, lease, [{ set: 'shares', shares }], signal);
  t.strictSame((await new PostgresDatasetQueries(db).view(at.dataset, signal))?.shares, [
    { recipient: ann, granted: true, accepted: true },
    { recipient: bob, granted: true, accepted: false },
    { recipient: cay, granted: false, accepted: true },
    { recipient: dan, granted: false, accepted: false },
  ]);
});

const changes: Readonly<Record<string, Parameters<typeof catalog.write>[2] | undefined>> = {
  remover: undefined,
  writer: [{ set: 'state', state: 'deleting' }],
};
for (const [name, written] of Object.entries(changes))
  t.test(`a ${name} that waited while its lease was taken is refused`, async (t) => {
    const { at, lease } = await registered(t);
    const taker = await db.dedicated();
    t.teardown(() => taker.end());
    await taker.query('begin');
    await taker.query('update lease set token = token + 1 where name = $1', [at.dataset]);
    const changing = written
      ? catalog.write(at.dataset, lease, written, signal)
      : catalog.remove(at.dataset, lease, signal);
    const refused = t.rejects(changing, { kind: 'aborted', message: /lease lost/ });
    await taker.query('commit');
    await refused;
    t.equal((await catalog.find(at.dataset, signal))?.state, 'live');
  });

t.test('characters that the database cannot hold do not fail a dataset', async (t) => {
  const { at, lease } = await registered(t, { name: 'nul \0 half \ud800 backslash \\u0000 path C:\\ud800\\' });
  await catalog.write(
    at.dataset,
    lease,
    [
      { set: 'import', status: 'invalid', messages: ['line \0', '\udc00'] },
      {
        set: 'uploadFiles',
        files: [
          { name: 'a\0', size: 1 },
          { name: 'a\ufffd', size: 2 },
        ],
      },
    ],
    signal,
  );
  const found = await catalog.find(at.dataset, signal);
  t.equal(found?.metadata.name, 'nul \ufffd half \ufffd backslash \\u0000 path C:\\ud800\\');
  t.same(found?.import, { status: 'invalid', messages: ['line \ufffd', '\ufffd'] });
});

t.test('odd metadata of another system still has a row', async (t) => {
  const odd = {
    visibility: 'controlled',
    created: 'long ago',
    publications: [{ identifier: 7 }, { identifier: 'x', type: 'isbn' }, { identifier: '1', type: 'pmid' }],
  };
  const { at } = await registered(t, odd as never);
  t.same(await db.query('select visibility from dataset where dataset_id = $1', [at.dataset]), [
    { visibility: 'protected' },
  ]);
  t.same(await db.query('select type, identifier from dataset_publication where dataset_id = $1', [at.dataset]), [
    { type: 'pmid', identifier: '1' },
  ]);
});

t.test('the row version grows with metadata and state, not with statuses', async (t) => {
  const { at, lease } = await registered(t);
  const version = async () =>
    (await db.query<{ v: number }>('select row_version as v from dataset where dataset_id = $1', [at.dataset]))[0]?.v;
  await catalog.write(at.dataset, lease, [{ set: 'import', status: 'complete', messages: [] }], signal);
  t.equal(await version(), 1);
  const metadata = metadataOf(at.owner, { name: 'New name' });
  await catalog.write(at.dataset, lease, [{ set: 'metadata', metadata }], signal);
  t.equal(await version(), 2);
  await catalog.write(at.dataset, lease, [{ set: 'state', state: 'superseded' }], signal);
  t.equal(await version(), 3);
});

t.test('removing a dataset leaves no row with its id but the lease, the jobs and the events', async (t) => {
  const { at, lease } = await registered(t, { publications: [{ identifier: '1', type: 'pmid', isPrimary: true }] });
  const version = { modified: new Date(0), etag: 'e' };
  await catalog.write(
    at.dataset,
    lease,
    [
      { set: 'uploadFiles', files: [{ name: 'a', size: 1 }] },
      { set: 'shares', shares: [{ recipient: newUser(), offer: 'grant' }] },
      { set: 'sync', part: 'data', version },
      { set: 'install', target: PLASMO, kind: 'data', status: 'complete', messages: [] },
    ],
    signal,
  );
  const attempt = { target: PLASMO, kind: 'data', attempts: 0, notBefore: undefined, started: true } as const;
  await catalog.write(at.dataset, lease, [{ set: 'attempt', ...attempt }], signal);
  await db.query(
    `insert into upload (dataset_id, owner_id, state, holder, reserved_bytes) values ($1, 1, 'stored', 1, 0)`,
    [at.dataset],
  );
  await db.query(
    `insert into job (lane, dataset_id, rank, owner, event_id, source) values ('hardDelete', $1, 0, 1, 1, 'pruner')`,
    [at.dataset],
  );
  t.teardown(() => db.query('delete from job where dataset_id = $1', [at.dataset]));
  const tables = await db.query<{ name: string; column: string }>(
    `select c.table_name as name, c.column_name as column
     from information_schema.columns c join information_schema.tables b using (table_schema, table_name)
     where c.table_schema = current_schema() and b.table_type = 'BASE TABLE'
       and (c.column_name = 'dataset_id' or (c.table_name = 'lease' and c.column_name = 'name'))
     order by c.table_name`,
  );
  const withRows = async () => {
    const names: string[] = [];
    for (const { name, column } of tables)
      if ((await db.query(`select from ${name} where ${column} = $1`, [at.dataset])).length > 0) names.push(name);
    return names;
  };
  t.strictSame(await withRows(), [
    'dataset',
    'dataset_event',
    'dataset_file',
    'dataset_publication',
    'dataset_search',
    'dataset_search_private',
    'dataset_share',
    'dataset_target',
    'install_attempt',
    'install_status',
    'job',
    'kept_object',
    'lease',
    'upload',
  ]);
  await catalog.remove(at.dataset, lease, signal);
  t.strictSame(await withRows(), ['dataset_event', 'job', 'lease']);
});
