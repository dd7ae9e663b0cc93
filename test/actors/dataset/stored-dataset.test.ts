import t from 'tap';
import {
  flagOlder,
  type StoredDataset,
  storedDataset,
  storedDatasets,
} from '../../../actors/dataset/stored-dataset.ts';
import { type DatasetId, revisionOf, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import { olderRevisions } from '../../../engine/model/older-revisions.ts';
import type { ObjectInfo } from '../../../engine/ports/object-store.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { metadataOf, newUser, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { addressOf } from '../../support/merged-datasets.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;

async function storeOf(keys: readonly string[]): Promise<FakeObjectStore> {
  const store = new FakeObjectStore();
  for (const key of keys) await store.put(key, Buffer.from('x'), {}, never);
  return store;
}

/** Paths below the dataset, by what they were taken for. */
function view({ owner, dataset, objects, properties, documents, raw, shares, unknown }: StoredDataset): object {
  const paths = (infos: readonly ObjectInfo[]): string[] => infos.map(({ key }) => key.split('/').slice(2).join('/'));
  const folders = {
    properties: paths(properties),
    documents: paths(documents),
    raw: paths(raw),
    shares: paths(shares),
  };
  return { id: `${owner}/${dataset}`, objects: Object.keys(objects).sort(), ...folders, unknown };
}

async function all(store: FakeObjectStore, onStray?: (key: string) => void): Promise<object[]> {
  const groups: object[] = [];
  for await (const group of storedDatasets(store.list('', {}, never), onStray)) groups.push(view(group));
  return groups;
}

const NOTHING = { properties: [], documents: [], raw: [], shares: [], unknown: 0 };

const group = (id: string, more: object = {}): object => ({ id: `1/${id}`, objects: [], ...NOTHING, ...more });
const SHARES = ['shares/11/share-offer.json', 'shares/11/share-receipt.json', 'shares/12/share-offer.json'];
const META = { objects: ['vdi-meta.json'] };
const GROUPS: Readonly<Record<string, readonly [keys: readonly string[], groups: readonly object[]]>> = {
  'the keys of several datasets are grouped by dataset, in the order of keys': [
    ['b/vdi-meta.json', 'a/import-ready.zip', 'a/vdi-meta.json', 'a_1/vdi-meta.json'],
    [group('a', { objects: ['import-ready.zip', 'vdi-meta.json'] }), group('a_1', META), group('b', META)],
  ],
  'shares are counted': [SHARES.map((path) => `a/${path}`), [group('a', { shares: SHARES })]],
  'flags are recognised': [
    ['a/delete-flag', 'b/revised-flag', 'c/delete-flag.txt'],
    [group('a', { objects: ['delete-flag'] }), group('b', { objects: ['revised-flag'] }), group('c', { unknown: 1 })],
  ],
  'files are told apart by their folder, and keys that nobody knows keep the dataset there': [
    ['a/datasetProperties/p.tsv', 'a/documents/d.pdf', 'a/elsewhere/x', 'a/raw/genes.txt', 'a/vdi-meta.json'],
    [
      group('a', {
        ...{ ...META, properties: ['datasetProperties/p.tsv'], documents: ['documents/d.pdf'] },
        ...{ raw: ['raw/genes.txt'], unknown: 1 },
      }),
    ],
  ],
};

for (const [fact, [keys, groups]] of Object.entries(GROUPS))
  t.test(fact, async (t) => {
    t.strictSame(await all(await storeOf(keys.map((key) => `1/${key}`))), groups);
  });

t.test('what belongs to other services or to no dataset is no dataset', async (t) => {
  const store = await storeOf(['handler/1/x', 'lost', '1/a/vdi-meta.json', 'reports/1/x', 'x/y/vdi-meta.json']);
  const strays: string[] = [];
  t.strictSame(await all(store, (key) => strays.push(key)), [{ id: '1/a', objects: ['vdi-meta.json'], ...NOTHING }]);
  t.strictSame(strays, ['lost', 'x/y/vdi-meta.json']);
});

t.test('one dataset is found by its prefix, and only that', async (t) => {
  const store = await storeOf(['1/a/vdi-meta.json', '1/ab/vdi-meta.json']);
  const found = await storedDataset(store, addressOf(1, 'a'), never);
  t.strictSame(found && view(found), { id: '1/a', objects: ['vdi-meta.json'], ...NOTHING });
  t.equal(await storedDataset(store, { owner: '1' as UserId, dataset: addressOf(1, 'b').dataset }, never), undefined);
});

const owner = newUser();
const id = (text: string): DatasetId => text as DatasetId;

/** Metadata whose history lists the revisions in the order in which they were made. */
function history(originalId: string, ...revisions: string[]): DatasetMetadata {
  const entry = { action: 'revise', timestamp: '2026-01-02T03:04:05.678Z', revisionNote: '' } as const;
  const listed = revisions.map((revision) => ({ ...entry, revisionId: id(revision) }));
  return metadataOf(owner, { revisionHistory: { originalId: id(originalId), revisions: listed } });
}

const OLDER: Readonly<Record<string, readonly [metadata: DatasetMetadata, of: string, older: readonly string[]]>> = {
  'older revisions come newest first and end with the original': [history('R', 'R', 'R_1', 'R_2'), 'R_2', ['R_1', 'R']],
  'the original need not be listed': [history('R', 'R_1', 'R_2'), 'R_2', ['R_1', 'R']],
  'later revisions are not older': [history('R', 'R', 'R_1', 'R_2', 'R_3'), 'R_1', ['R']],
  'the original has none': [history('R', 'R', 'R_1'), 'R', []],
  'all that is listed is older than a dataset that is not': [history('R', 'R', 'R_1'), 'R_2', ['R_1', 'R']],
  'a dataset without a history has no older revisions': [metadataOf(owner), 'R', []],
  'what is no dataset id is passed over': [history('R', 'R', '../R_1', 'a/b', '', 'R_2'), 'R_3', ['R_2', 'R']],
};

t.test('older revisions are read from the history', async (t) => {
  for (const [fact, [metadata, of, older]] of Object.entries(OLDER))
    t.strictSame(olderRevisions(metadata, id(of)), older, fact);
});

t.test('the flag is put where metadata exist and it is missing, newest first, and once', async (t) => {
  const store = new FakeObjectStore();
  const key = (dataset: string, object: Parameters<typeof objectKey>[1]) =>
    objectKey({ owner, dataset: id(dataset) }, object);
  for (const present of [
    key('R', 'vdi-meta.json'),
    key('R_1', 'install-ready.zip'),
    key('R_2', 'vdi-meta.json'),
    key('R_2', 'revised-flag'),
    key('R_3', 'vdi-meta.json'),
    key('R_3', 'delete-flag'),
    key('R_4', 'vdi-meta.json'),
  ])
    await store.put(present, Buffer.from('x'), {}, never);
  const before = store.changes.length;
  const record = { owner, dataset: id('R_4'), metadata: history('R', 'R', 'R_1', 'R_2', 'R_3', 'R_4', 'R_5') };
  t.strictSame(await flagOlder(store, record, 'revised-flag', never), ['R_3', 'R']);
  t.strictSame(
    store.changes.slice(before).map((change) => `${change.kind} ${change.key}`),
    [`created ${key('R_3', 'revised-flag')}`, `created ${key('R', 'revised-flag')}`],
  );
  t.equal(store.text(key('R', 'revised-flag')), '');
  t.strictSame(await flagOlder(store, record, 'revised-flag', never), []);
});

/** An installed dataset, and its first revision, accepted. */
async function revised(world: LaneWorld): Promise<{ readonly older: DatasetAddress; readonly at: DatasetAddress }> {
  const older = await world.accept();
  await world.finish();
  const at = { owner: older.owner, dataset: revisionOf(older.dataset, 1) };
  const { revisionHistory } = history(older.dataset, older.dataset, at.dataset);
  await world.accept(
    { metadata: { installTargets: [PLASMO, TOXO], ...(revisionHistory ? { revisionHistory } : {}) } },
    at,
  );
  return { older, at };
}

t.test('a revision that is installed on all its targets supersedes the older one, which is taken away', async (t) => {
  const world = new LaneWorld(t.testdir());
  const { older, at } = await revised(world);
  await world.finish();
  t.same([world.dataset(older).state, world.dataset(at).state], ['superseded', 'live']);
  t.same([...world.plugin.installed.keys()].sort(), [`PlasmoSite/${at.dataset}`, `ToxoSite/${at.dataset}`]);
  const puts = world.store.changes.length;
  world.event('install', at);
  await world.finish();
  t.equal(world.store.changes.length, puts, 'once');
});

t.test('the older revision stays while the newer one is not installed on one target', async (t) => {
  const world = new LaneWorld(t.testdir());
  const { older } = await revised(world);
  world.plugin.decide = ({ kind, target }) =>
    kind === 'installData' && target === TOXO ? { kind: 'missing-dependency', messages: ['build 68'] } : undefined;
  await world.finish();
  t.equal(world.dataset(older).state, 'live');
  t.notOk(world.keys(older).includes('revised-flag'));
});

t.test('the older revision stays while a target of the newer one is away, and goes when it is back', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, TOXO);
  const { older } = await revised(world);
  for (const lane of ['upload', 'import', 'updateMeta'] as const) await world.run(lane);
  away.reason = transient('ToxoSite refused', { unreachable: true });
  await world.run('install');
  t.notOk(world.keys(older).includes('revised-flag'));
  away.reason = undefined;
  await world.finish();
  t.equal(world.dataset(older).state, 'superseded');
});
