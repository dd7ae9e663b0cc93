import t from 'tap';
import type { EventSource } from '../../../engine/model/event.ts';
import { type DatasetAddress, datasetPrefix, fileKey, objectKey, shareKey } from '../../../engine/model/object-key.ts';
import type { DatasetState } from '../../../engine/model/status.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { newAddress, newUser, PLASMO } from '../../support/dataset-samples.ts';
import { acceptedWorld, installedWorld } from '../../support/lane-start.ts';
import { LaneWorld, type Upload } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const DONE = { kind: 'done' };

async function installed(world: LaneWorld, upload?: Upload): Promise<DatasetAddress> {
  const at = await world.accept(upload);
  await world.finish();
  return at;
}

function setState(world: LaneWorld, at: DatasetAddress, state: DatasetState): void {
  world.catalog.apply(at.dataset, [{ set: 'state', state }]);
}

function ask(world: LaneWorld, at: DatasetAddress, source: EventSource): void {
  world.jobs.enqueue({ lane: 'hardDelete', ...at, eventId: 99, source });
}

const put = (world: LaneWorld, key: string, content = '') => world.store.put(key, Buffer.from(content), {}, never);
const removeMeta = (world: LaneWorld, at: DatasetAddress) =>
  world.store.remove([objectKey(at, 'vdi-meta.json')], never);

/** Whatever there is of the dataset anywhere. */
async function traces(world: LaneWorld, at: DatasetAddress) {
  return {
    keys: world.keys(at),
    record: world.catalog.datasets.get(at.dataset)?.state,
    control: await world.control(at),
    installed: [...world.plugin.installed.keys()],
    attempts: await world.attempts(at),
    bytes: await world.uploads.usage(at.owner, never),
    jobs: world.jobRows(),
    leases: world.leases.held(),
  };
}

const NOTHING = {
  keys: [],
  record: undefined,
  control: {},
  installed: [],
  attempts: [],
  bytes: 0,
  jobs: [],
  leases: [],
};

t.test('a dataset that is pruned is gone everywhere, its metadata and flags last', async (t) => {
  const { world, at } = await installedWorld(t, { properties: { 'p.tsv': 'x' } });
  for (const object of ['delete-flag', 'revised-flag'] as const) await put(world, objectKey(at, object));
  await put(world, fileKey(at, 'documents', 'zebra.pdf'), 'z');
  await put(world, shareKey(at, newUser(), 'share-offer.json'), '{"action":"grant"}');
  await put(world, `${datasetPrefix(at)}zz/unknown`, '?');
  await world.finish();
  setState(world, at, 'pruning');
  ask(world, at, 'pruner');
  await world.finish();
  t.same(await traces(world, at), NOTHING);
  const removed = world.store.changes.filter(({ kind }) => kind === 'removed').map(({ key }) => key);
  t.same(
    removed.slice(-3),
    (['vdi-meta.json', 'revised-flag', 'delete-flag'] as const).map((object) => objectKey(at, object)),
  );
});

t.test('no other job follows where the store leaves the announcements of what is handed over out', async (t) => {
  const { world, at } = await installedWorld(t);
  await put(world, objectKey(at, 'delete-flag'));
  await world.finish();
  world.store.honorsHandOver = true;
  const before = world.store.changes.length;
  setState(world, at, 'pruning');
  ask(world, at, 'pruner');
  t.same(await world.run('hardDelete'), DONE);
  t.same(world.store.changes.slice(before), []);
  t.same(await traces(world, at), NOTHING);
});

t.test('what is still installed is uninstalled first', async (t) => {
  const { world, at } = await installedWorld(t);
  const calls = world.calls.length;
  setState(world, at, 'pruning');
  ask(world, at, 'pruner');
  t.same(await world.run('hardDelete'), DONE);
  t.same(world.calls.slice(calls).sort(), ['uninstall PlasmoSite', 'uninstall ToxoSite']);
  await world.finish();
  t.same(await traces(world, at), NOTHING);
});

t.test('a dataset whose metadata were removed is gone everywhere, with what was left of it', async (t) => {
  const { world, at } = await installedWorld(t);
  await removeMeta(world, at);
  t.same(await world.run('hardDelete'), DONE);
  await world.finish();
  t.same(await traces(world, at), NOTHING);
});

t.test('an upload that has not been packed goes with its metadata', async (t) => {
  const { world, at } = await acceptedWorld(t);
  await removeMeta(world, at);
  await world.finish();
  t.same(await traces(world, at), NOTHING);
  t.equal(await world.uploads.source(at.dataset, never), undefined);
});

t.test('metadata that are there again make the event outdated', async (t) => {
  for (const state of ['live', 'deleted', 'superseded'] as const) {
    const { world, at } = await installedWorld(t);
    setState(world, at, state);
    const before = await traces(world, at);
    world.event('hardDelete', at);
    t.same(await world.run('hardDelete'), DONE);
    t.same(await traces(world, at), before, state);
  }
});

t.test('a reconciler’s word does not delete a dataset that has objects without metadata', async (t) => {
  for (const source of ['full-reconciler', 'slim-reconciler'] as const) {
    const { world, at } = await installedWorld(t);
    const process = world.process();
    await removeMeta(world, at);
    world.deliver();
    for (const row of world.jobs.rows) world.jobs.remove(row);
    const before = await traces(world, at);
    ask(world, at, source);
    t.same(await world.run('hardDelete', process), DONE);
    t.same(await traces(world, at), before, source);
  }
});

t.test('a dataset that is absent from the store is removed at a reconciler’s word', async (t) => {
  const { world, at } = await installedWorld(t);
  await world.store.remove(world.store.keys(), never);
  world.deliver();
  for (const row of world.jobs.rows) world.jobs.remove(row);
  ask(world, at, 'full-reconciler');
  t.same(await world.run('hardDelete'), DONE);
  t.same(await traces(world, at), NOTHING);
});

t.test('a dataset that only the targets know is uninstalled by the type that they name, and removed', async (t) => {
  const { world, at } = await installedWorld(t);
  world.catalog.datasets.delete(at.dataset);
  await removeMeta(world, at);
  await world.finish();
  t.same(await traces(world, at), NOTHING);
  t.equal(world.calls.filter((call) => /uninstall/.test(call)).length, 2);
});

t.test('a dataset that nobody knows is nothing to do', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  world.event('hardDelete', at);
  t.same(await world.run('hardDelete'), DONE);
  t.same([await traces(world, at), world.store.changes], [NOTHING, []]);
});

t.test('an upload that was given up before it was accepted ends the same whoever removes it first', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  await world.uploads.begin(at, 3, { bytes: 1_000 }, never);
  await put(world, fileKey(at, 'raw', 'a.txt'), 'abc');
  await put(world, objectKey(at, 'vdi-meta.json'), '{}');
  await removeMeta(world, at);
  await world.finish();
  t.equal(await world.uploads.usage(at.owner, never), 3, 'the reservation is not this lane’s to end');
  await world.store.remove([fileKey(at, 'raw', 'a.txt')], never);
  await world.uploads.abandon(at.dataset, never);
  t.same(await traces(world, at), NOTHING);
});

t.test('a target that is away keeps the objects and the cache’s rows, and other lanes off', async (t) => {
  const world = new LaneWorld(t.testdir());
  const away = targetAway(world, PLASMO);
  const at = await installed(world);
  const keys = world.keys(at).filter((key) => key !== 'vdi-meta.json');
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  await removeMeta(world, at);
  t.match(await world.run('hardDelete'), { kind: 'retry', message: /PlasmoSite refused/, countsAttempt: false });
  t.match(await traces(world, at), { keys, record: 'deleting', installed: [`PlasmoSite/${at.dataset}`], bytes: 0 });
  t.same(Object.keys(await world.control(at)), ['PlasmoSite']);
  const calls = world.calls.length;
  world.event('install', at);
  await world.run('install');
  t.equal(world.calls.length, calls);
  away.reason = undefined;
  await world.finish();
  t.same(await traces(world, at), NOTHING);
});

t.test('a script that fails keeps everything for an administrator', async (t) => {
  const { world, at } = await installedWorld(t, { metadata: { installTargets: [PLASMO] } });
  const message = 'uninstall from PlasmoSite, plugin genes: exit code 3';
  world.plugin.decide = () => ({ kind: 'script-error', message: 'exit code 3' });
  await removeMeta(world, at);
  t.same(await world.run('hardDelete'), { kind: 'dead', failure: 'rejected', message });
  t.match(await world.control(at), { PlasmoSite: { deleted: 2, data: ['complete', message] } });
  t.match(await traces(world, at), { keys: ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json'] });
});

t.test('a store that does not answer proves nothing', async (t) => {
  const { world, at } = await installedWorld(t);
  await removeMeta(world, at);
  const before = await world.control(at);
  world.store.onCall = (method) => {
    if (method === 'probe') throw transient('store refused', { unreachable: true });
  };
  t.match(await world.run('hardDelete'), { kind: 'retry', countsAttempt: false });
  t.same([await world.control(at), world.dataset(at).state], [before, 'live']);
});

t.test('more objects than one removal takes are removed all', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  for (let i = 0; i < 1_201; i++) await put(world, fileKey(at, 'documents', `${i}.txt`));
  await put(world, objectKey(at, 'delete-flag'));
  const batches: number[] = [];
  const remove = world.store.remove.bind(world.store);
  world.store.remove = async (keys, signal) => {
    batches.push(keys.length);
    await remove(keys, signal);
  };
  world.event('hardDelete', at);
  await world.finish();
  t.same([world.keys(at), batches], [[], [500, 500, 202]]);
});

t.test('a superseded revision is trimmed to what its history needs, once', async (t) => {
  const world = new LaneWorld(t.testdir());
  const recipient = newUser();
  const at = await installed(world, { properties: { 'p.tsv': 'x' } });
  await put(world, objectKey(at, 'revised-flag'));
  await put(world, fileKey(at, 'documents', 'a.pdf'), 'a');
  await put(world, shareKey(at, recipient, 'share-offer.json'), '{"action":"grant"}');
  await put(world, `${datasetPrefix(at)}notes.txt`, '?');
  world.catalog.apply(at.dataset, [{ set: 'documentFiles', files: [{ name: 'a.pdf', size: 1 }] }]);
  await world.finish();
  const kept = {
    ...NOTHING,
    keys: [
      'datasetProperties/p.tsv',
      'import-ready.zip',
      'revised-flag',
      `shares/${recipient}/share-offer.json`,
      'vdi-manifest.json',
      'vdi-meta.json',
    ],
    record: 'superseded',
    bytes: 0,
  };
  for (const round of ['first', 'second']) {
    ask(world, at, 'pruner');
    t.same(await world.run('hardDelete'), DONE);
    await world.finish();
    t.same(await traces(world, at), kept, round);
    const { files } = world.dataset(at);
    t.same([files.install, files.document, files.property?.length, files.upload?.length], [[], [], 1, 1], round);
    t.match(await world.record(at), { import: { status: 'complete' }, sync: { meta: 'current', data: 'none' } }, round);
    t.same(world.dataset(at).installs, [], round);
  }
});

t.test('a trimmed revision is the same in a cache that is built anew', async (t) => {
  const { world, at } = await installedWorld(t, { properties: { 'p.tsv': 'x' } });
  await put(world, objectKey(at, 'revised-flag'));
  await world.finish();
  ask(world, at, 'pruner');
  await world.run('hardDelete');
  await world.finish();
  const { files, ...trimmed } = world.dataset(at);
  world.catalog.datasets.delete(at.dataset);
  world.event('reconciliation', at);
  await world.finish();
  // What is kept is told of when a dataset is entered from the store, and counted as it is written otherwise.
  const { files: listed, kept: _kept, ...built } = world.dataset(at);
  t.same(built, trimmed);
  const sizes = ({ upload = [], install = [], document = [], property = [] }: typeof files) =>
    [upload, install, document, property].map(({ length }) => length);
  t.same(
    [sizes(listed), sizes(files)],
    [
      [1, 0, 0, 1],
      [1, 0, 0, 1],
    ],
  );
});

t.test('a trimmed revision is one only when its installable data are gone, which go last', async (t) => {
  const { world, at } = await installedWorld(t);
  await put(world, objectKey(at, 'revised-flag'));
  await put(world, fileKey(at, 'raw', 'z.txt'), 'z');
  await world.finish();
  ask(world, at, 'pruner');
  await world.run('hardDelete');
  t.same(
    world.store.changes.slice(-2),
    [fileKey(at, 'raw', 'z.txt'), objectKey(at, 'install-ready.zip')].map((key) => ({ kind: 'removed', key })),
  );
});

t.test('a superseded revision is trimmed only when the pruner asks and its flag is there', async (t) => {
  const { world, at } = await installedWorld(t);
  await put(world, objectKey(at, 'revised-flag'));
  await world.finish();
  const keys = world.keys(at);
  ask(world, at, 'full-reconciler');
  t.same(await world.run('hardDelete'), DONE);
  t.same(world.keys(at), keys);
  await world.store.remove([objectKey(at, 'revised-flag')], never);
  ask(world, at, 'pruner');
  t.same(await world.run('hardDelete'), DONE);
  t.same(
    world.keys(at),
    keys.filter((key) => key !== 'revised-flag'),
  );
});
