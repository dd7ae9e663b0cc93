import t from 'tap';
import { type StoredDataset, storedDataset, storedDatasets } from '../../../actors/dataset/stored-dataset.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import type { ObjectInfo } from '../../../engine/ports/object-store.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { addressOf } from '../../support/merged-datasets.ts';

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
