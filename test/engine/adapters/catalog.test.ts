import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../engine/adapters/catalog-postgres.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { catalogConformance } from '../../conformance/catalog.ts';
import { FakeCatalog } from '../../fakes/fake-catalog.ts';
import { FakeLeaseTable } from '../../fakes/fake-lease-table.ts';
import { cacheDatabase, grantLease, releaseLease } from '../../support/cache-database.ts';
import { metadataOf, newAddress } from '../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const grant = (name: string) => grantLease(db, name);

t.test('PostgreSQL', async (t) => {
  catalogConformance(t, async () => ({ catalog, grant, release: (lease) => releaseLease(db, lease) }));
});

t.test('fake', async (t) => {
  catalogConformance(t, async () => {
    const leases = new FakeLeaseTable();
    return { catalog: new FakeCatalog(leases.holds), grant: leases.grant, release: leases.release };
  });
});

async function registered(t: Test, more: Partial<DatasetMetadata> = {}) {
  const at = newAddress();
  const lease = await grant(at.dataset);
  await catalog.register(at, metadataOf(at.owner, more), [], lease, signal);
  t.teardown(() => db.query('delete from dataset where dataset_id = $1', [at.dataset]));
  return { at, lease };
}

t.test('a write that fails in part leaves nothing of itself', async (t) => {
  const { at, lease } = await registered(t);
  const before = await catalog.find(at.dataset, signal);
  const broken = { set: 'install', target: 'X', kind: 'data', status: 'no-such-status', messages: [] };
  await t.rejects(catalog.write(at.dataset, lease, [{ set: 'state', state: 'deleting' }, broken as never], signal), {
    kind: 'defect',
    message: /install_status_status_check/,
  });
  t.strictSame(await catalog.find(at.dataset, signal), before);
});

t.test('a writer that waited while its lease was taken is refused', async (t) => {
  const { at, lease } = await registered(t);
  const taker = await db.dedicated();
  t.teardown(() => taker.end());
  await taker.query('begin');
  await taker.query('update lease set token = token + 1 where name = $1', [at.dataset]);
  const writing = catalog.write(at.dataset, lease, [{ set: 'state', state: 'deleting' }], signal);
  const refused = t.rejects(writing, { kind: 'aborted', message: /lease lost/ });
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

t.test('removing a dataset removes all its rows', async (t) => {
  const { at } = await registered(t, { publications: [{ identifier: '1', type: 'pmid', isPrimary: true }] });
  await db.query('delete from dataset where dataset_id = $1', [at.dataset]);
  for (const table of ['dataset_target', 'dataset_publication'])
    t.same(await db.query(`select * from ${table} where dataset_id = $1`, [at.dataset]), []);
});
