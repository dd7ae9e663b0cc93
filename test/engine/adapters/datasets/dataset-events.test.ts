import t, { type Test } from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetEdits } from '../../../../engine/adapters/datasets/dataset-edits-postgres.ts';
import { PostgresDatasetEvents } from '../../../../engine/adapters/datasets/dataset-events-postgres.ts';
import type { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { DatasetEvent } from '../../../../engine/model/dataset-event.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { InstallKind, InstallStatus } from '../../../../engine/model/status.ts';
import type { CatalogChange, StoredShare } from '../../../../engine/ports/catalog.ts';
import { datasetEventsConformance } from '../../../conformance/dataset-events.ts';
import { acceptedUpload } from '../../../conformance/uploads.ts';
import { FakeDatasetEvents } from '../../../fakes/fake-dataset-events.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { livingProcess } from '../../../support/database.ts';
import { historyOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const edits = new PostgresDatasetEdits(db);
const events = new PostgresDatasetEvents(db);

datasetEventsConformance('PostgresDatasetEvents', async () => {
  await db.query('truncate dataset, dataset_event cascade');
  return {
    events,
    async give(dataset, owner, user) {
      const lease = await grantLease(db, dataset);
      const shares = [{ recipient: user, offer: 'grant', receipt: 'accept' } as const];
      await catalog.register({ owner, dataset }, metadataOf(owner), [{ set: 'shares', shares }], lease, signal);
    },
  };
});

datasetEventsConformance('FakeDatasetEvents', async () => {
  const fake = new FakeDatasetEvents();
  return { events: fake, give: async (dataset, _owner, user) => void fake.given.set(dataset, new Set([user])) };
});

/** An event as `kind step target status: messages` */
const said = ({ kind, addressee, detail: { step, target, status, messages = [] } }: DatasetEvent): string =>
  [...[kind, addressee && 'to addressee', step, target, status].filter((word) => word !== undefined), ...messages].join(
    ' ',
  );

/** A dataset for two targets, accepted unless `registered`, with its events so far read. */
async function setup(t: Test, { registered = false } = {}) {
  const at = newAddress();
  const { instance } = await livingProcess(t, db);
  const uploads = new PostgresUploads(db, { instance });
  const metadata = metadataOf(at.owner, { installTargets: [PLASMO, TOXO] });
  const lease = await grantLease(db, at.dataset);
  let after = await events.newest(signal);
  const write = (...changes: CatalogChange[]) => catalog.write(at.dataset, lease, changes, signal);
  const install = (target: typeof PLASMO, kind: InstallKind, status: InstallStatus, ...messages: string[]) =>
    write({ set: 'install', target, kind, status, messages });
  const world = {
    ...{ at, lease, uploads, metadata, write, install },
    /** What was told of the dataset since the last call. */
    async told(): Promise<readonly string[]> {
      const page = await events.page({ of: 'all' }, after, 100, signal);
      after = page.upTo;
      return page.events.filter(({ dataset }) => dataset === at.dataset).map(said);
    },
    imported: () => write({ set: 'import', status: 'complete', messages: [] }),
    async installOn(target: typeof PLASMO) {
      await install(target, 'data', 'running');
      await write(
        { set: 'install', target, kind: 'data', status: 'complete', messages: [] },
        { set: 'install', target, kind: 'meta', status: 'running', messages: [] },
      );
      await install(target, 'meta', 'complete');
    },
    job: (lane: string) =>
      db.query(
        `insert into job (lane, dataset_id, rank, owner, event_id, source) values ($1, $2, 1, $3::numeric, 1, 'api')`,
        [lane, at.dataset, at.owner],
      ),
    jobEnds: () => db.query('delete from job where dataset_id = $1', [at.dataset]),
    share: (...shares: StoredShare[]) =>
      edits.edit(at.dataset, async () => ({ changes: [{ set: 'shares', shares }], result: undefined }), signal),
  };
  if (!registered) {
    await uploads.begin(at, 10, { bytes: 1_000 }, signal);
    await uploads.accept(acceptedUpload(at, { metadata }), signal);
    await world.jobEnds();
    t.same(await world.told(), ['accepted']);
  }
  return world;
}

t.test('a life is told once, whatever is repeated', async (t) => {
  const { told, write, imported, install, installOn, job } = await setup(t);
  await write({ set: 'upload', status: 'success' });
  await write({ set: 'import', status: 'in-progress', messages: [] });
  t.same(await told(), []);
  await imported();
  await imported();
  t.same(await told(), ['import-ended complete']);
  await job('install');
  await installOn(PLASMO);
  t.same(await told(), [], 'the other target is not installed');
  await installOn(TOXO);
  t.same(await told(), ['installed']);
  await install(TOXO, 'meta', 'complete');
  await install(PLASMO, 'meta', 'running');
  await install(PLASMO, 'meta', 'complete');
  t.same(await told(), [], 'edited metadata do not install it again');
  await installOn(PLASMO);
  t.same(await told(), ['installed'], 'data that are installed again do');
  await write({ set: 'state', state: 'deleting' });
  await write({ set: 'state', state: 'deleted' });
  t.same(await told(), ['deleted']);
});

t.test('a target without a row counts until no job can install there', async (t) => {
  const { told, imported, installOn, job, jobEnds } = await setup(t);
  await imported();
  await told();
  await job('install');
  await installOn(PLASMO);
  t.same(await told(), []);
  await jobEnds();
  t.same(await told(), ['installed']);
  await job('updateMeta');
  await jobEnds();
  t.same(await told(), []);
});

t.test('targets that end in transactions at the same time are told by the end of the job', async (t) => {
  const { at, told, imported, installOn, job, jobEnds, install } = await setup(t);
  await imported();
  await told();
  await job('install');
  await installOn(PLASMO);
  await installOn(TOXO);
  await told();
  for (const target of [PLASMO, TOXO]) await install(target, 'data', 'ready-for-reinstall');
  for (const target of [PLASMO, TOXO]) await install(target, 'data', 'running');
  const end = `update install_status set status = 'complete' where dataset_id = $1 and target_id = $2 and kind = 'data'`;
  await db.transaction(async (sql) => {
    await sql.query(end, [at.dataset, PLASMO]);
    await db.query(end, [at.dataset, TOXO]);
  }, signal);
  t.same(await told(), []);
  await jobEnds();
  t.same(await told(), ['installed']);
});

t.test('what fails is told with its messages, shortened', async (t) => {
  const { told, write, imported, install } = await setup(t);
  await write({ set: 'upload', status: 'rejected', message: 'no genes' });
  await write({ set: 'import', status: 'invalid', messages: ['1', '2', '3', '4', '5', '6'] });
  t.same(await told(), ['failed upload rejected no genes', 'import-ended invalid 1 2 3 4 5']);
  await imported();
  await install(PLASMO, 'data', 'running');
  await install(PLASMO, 'data', 'failed-validation', 'x'.repeat(1_000));
  await install(PLASMO, 'data', 'failed-validation', 'again');
  t.same(await told(), ['import-ended complete', `failed install PlasmoSite failed-validation ${'x'.repeat(300)}`]);
  await install(TOXO, 'meta', 'running');
  await install(TOXO, 'meta', 'failed-installation', '\u0001'.repeat(300), ...Array(9).fill('\u0001'.repeat(300)));
  t.match(await told(), [/^failed metadata ToxoSite failed-installation /]);
});

t.test('an install that fails as a whole, before any target has a row, is told', async (t) => {
  const { told, imported, install } = await setup(t);
  await imported();
  await told();
  await install(TOXO, 'data', 'failed-installation', 'no store');
  t.same(await told(), ['failed install ToxoSite failed-installation no store']);
});

t.test('a dependency that is missing each day is told once, until the dataset is installed', async (t) => {
  const { told, imported, install, installOn } = await setup(t);
  await imported();
  await told();
  const missing = 'failed install PlasmoSite missing-dependency no build';
  for (let day = 0; day < 3; day++) {
    await install(PLASMO, 'data', 'running');
    await install(PLASMO, 'data', 'missing-dependency', 'no build');
  }
  t.same(await told(), [missing]);
  await installOn(TOXO);
  await installOn(PLASMO);
  t.same(await told(), ['installed']);
  await install(PLASMO, 'data', 'ready-for-reinstall');
  await install(PLASMO, 'data', 'missing-dependency', 'no build');
  t.same(await told(), [missing]);
});

t.test('a cache that is built anew tells nothing of the past, and then what is new', async (t) => {
  const { at, lease, metadata, told, install, installOn, share, uploads, write } = await setup(t, { registered: true });
  const [friend, other] = [newUser(), newUser()];
  const past: CatalogChange[] = [
    { set: 'import', status: 'complete', messages: [] },
    { set: 'shares', shares: [{ recipient: friend, offer: 'grant' }] },
    { set: 'install', target: PLASMO, kind: 'data', status: 'complete', messages: [] },
    { set: 'install', target: PLASMO, kind: 'meta', status: 'complete', messages: [] },
  ];
  await catalog.register(at, metadata, past, lease, signal);
  // A target that did not answer at first.
  await install(TOXO, 'data', 'failed-installation', 'long ago');
  // What an install finds that an event starts before reconciliation.
  await install(TOXO, 'meta', 'running');
  await install(TOXO, 'meta', 'complete');
  t.same(await told(), []);
  await share({ recipient: friend, offer: 'grant' }, { recipient: other, offer: 'grant' });
  t.same(await told(), ['shared to addressee']);
  await install(TOXO, 'data', 'ready-for-reinstall');
  await installOn(TOXO);
  t.same(await told(), ['installed']);
  await write({ set: 'state', state: 'deleting' });
  t.same(await told(), ['deleted']);
  const resumed = newAddress();
  await uploads.resume(acceptedUpload(resumed, {}), async () => true, signal);
  t.same((await events.page({ of: 'dataset', dataset: resumed.dataset }, 0, 9, signal)).events, []);
});

t.test('an offer is told to its recipient, once while it stands, and not again by a revision', async (t) => {
  const { at, told, share, uploads } = await setup(t);
  const friend = newUser();
  await share({ recipient: friend, offer: 'grant' });
  await share({ recipient: friend, offer: 'grant', receipt: 'accept' });
  t.same(await told(), ['shared to addressee']);
  await share({ recipient: friend, offer: 'revoke', receipt: 'accept' });
  t.same(await told(), []);
  await share({ recipient: friend, offer: 'grant', receipt: 'accept' });
  t.same(await told(), ['shared to addressee']);
  const dataset = `${at.dataset}_1` as DatasetId;
  const revision = { owner: at.owner, dataset };
  const metadata = metadataOf(at.owner, { revisionHistory: historyOf(at.dataset, dataset) });
  await uploads.begin(revision, 10, { bytes: 1_000 }, signal);
  await uploads.accept(acceptedUpload(revision, { metadata }), signal);
  const shares: StoredShare[] = [
    { recipient: friend, offer: 'grant', receipt: 'accept' },
    { recipient: newUser(), offer: 'grant' },
  ];
  await edits.edit(dataset, async () => ({ changes: [{ set: 'shares', shares }], result: undefined }), signal);
  const { events: found } = await events.page({ of: 'all' }, 0, 1_000, signal);
  t.same(
    found.filter((event) => event.dataset === dataset).map(({ kind, addressee }) => [kind, addressee]),
    [
      ['accepted', undefined],
      ['shared', shares[1]?.recipient],
    ],
  );
});

t.test('a change that is rolled back tells nothing', async (t) => {
  const { at, told } = await setup(t);
  const undone = db.transaction(async (sql) => {
    await sql.query(`update dataset set import_status = 'complete' where dataset_id = $1`, [at.dataset]);
    throw new Error('no');
  }, signal);
  await t.rejects(undone);
  t.same(await told(), []);
});

t.test('an event that is committed late is not missed: it comes after those that were read before', async (t) => {
  const write = `insert into dataset_event (kind, dataset_id, owner_id) values ('accepted', $1, 7)`;
  const before = await events.newest(signal);
  const read = async (after: number) => {
    const page = await events.page({ of: 'all' }, after, 100, signal);
    return { upTo: page.upTo, sets: page.events.map(({ dataset }) => dataset as string) };
  };
  let upTo = before;
  await db.transaction(async (sql) => {
    await sql.query(write, ['late']);
    await db.query(write, ['early']);
    const first = await read(before);
    t.same(first.sets, ['early']);
    upTo = first.upTo;
  }, signal);
  t.same((await read(upTo)).sets, ['late']);
  t.same((await read(before)).sets, ['early', 'late']);
});

t.test('readers that number at once give each event one place', async (t) => {
  const before = await events.newest(signal);
  const owner: UserId = newUser();
  const write = () =>
    db.query(`insert into dataset_event (kind, dataset_id, owner_id) values ('accepted', 'many', $1::numeric)`, [
      owner,
    ]);
  const rounds = Array.from({ length: 8 }, async () => {
    const seen: number[] = [];
    let after = before;
    for (let n = 0; n < 20; n++) {
      await write();
      const page = await events.page({ of: 'all' }, after, 1_000, signal);
      seen.push(...page.events.map(({ id }) => id));
      after = page.upTo;
    }
    return { seen, after };
  });
  const readers = await Promise.all(rounds);
  const { events: whole } = await events.page({ of: 'all' }, before, 1_000, signal);
  const ids = whole.map(({ id }) => id);
  t.same(
    ids,
    Array.from({ length: 160 }, (_, n) => before + n + 1),
  );
  for (const { seen, after } of readers) t.same([...seen, ...ids.filter((id) => id > after)], ids);
});

t.test('an idle look costs one statement', async (t) => {
  const texts: string[] = [];
  const counted = {
    query: ((text: string, ...rest: never[]) => {
      texts.push(text);
      return db.query(text, ...rest);
    }) as Postgres['query'],
  };
  const counting = new PostgresDatasetEvents(counted);
  const newest = await counting.newest(signal);
  texts.length = 0;
  await counting.page({ of: 'all' }, newest, 100, signal);
  t.equal(texts.length, 1);
});
