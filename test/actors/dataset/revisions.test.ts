import t from 'tap';
import { flagOlder, olderRevisions } from '../../../actors/dataset/revisions.ts';
import { type DatasetId, revisionOf } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { FakeObjectStore } from '../../fakes/fake-object-store.ts';
import { metadataOf, newUser, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
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
