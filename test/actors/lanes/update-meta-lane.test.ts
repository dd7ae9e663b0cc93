import t from 'tap';
import { type DatasetMetadata, serializeMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, fileKey, objectKey } from '../../../engine/model/object-key.ts';
import { rejected, transient } from '../../../engine/runtime/failure.ts';
import { newAddress, PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { claimed, installedWorld, worldBefore } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const NAME = 'Genes of interest';
const SHOWN = {
  data: ['complete'],
  meta: ['complete'],
  shown: true,
  name: NAME,
  sync: { data: 'current', meta: 'current' },
};

t.test('metadata are installed once the data are, and only then the dataset is shown', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta', { properties: { 'p.tsv': 'x' } });
  const hidden = { ...SHOWN, meta: ['queued'], shown: false, sync: { data: 'current', meta: 'none' } };
  t.same(await world.control(at), { PlasmoSite: hidden, ToxoSite: hidden });
  world.plugin.decide = () => ({ kind: 'success', validation: { basic: ['odd'], community: [] } });
  t.same(await world.run('updateMeta'), { kind: 'done' });
  const shown = { ...SHOWN, meta: ['complete', 'odd'] };
  t.same(await world.control(at), { PlasmoSite: shown, ToxoSite: shown });
  t.match(await world.record(at), {
    installs: { 'PlasmoSite meta': ['complete', 'odd'], 'ToxoSite meta': ['complete', 'odd'] },
    sync: { meta: 'current', data: 'current' },
  });
  t.same(world.calls.slice(3).sort(), ['installMeta PlasmoSite', 'installMeta ToxoSite']);
  t.same(world.plugin.installed.get(`${PLASMO}/${at.dataset}`), {
    metadata: world.dataset(at).metadata,
    files: [{ name: 'genes.txt', size: 14 }],
    properties: ['p.tsv'],
  });
  t.same([world.jobRows(), await world.attempts(at)], [[], []]);
});

t.test('before its data are installed a dataset has private rows and no call of the plugin', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const hidden = {
    data: ['queued'],
    meta: ['queued'],
    shown: false,
    name: NAME,
    sync: { data: 'none', meta: 'none' },
  };
  t.same(await world.control(at), { PlasmoSite: hidden, ToxoSite: hidden });
  t.same(world.calls, ['import']);
});

t.test('before the import is complete no target is touched, but the cache follows the store', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  world.plugin.decide = ({ kind }) => (kind === 'import' ? { kind: 'script-error', message: 'no' } : undefined);
  await putMetadata(world, at, { name: 'Renamed' });
  await world.finish();
  t.same(await world.control(at), {});
  t.equal(world.dataset(at).metadata.name, 'Renamed');
  t.match(await world.record(at), { sync: { meta: 'current' } });
});

t.test('an event without a change calls no plugin', async (t) => {
  const { world, at } = await installedWorld(t);
  const calls = world.calls.length;
  world.event('updateMeta', at);
  await world.finish();
  t.equal(world.calls.length, calls);
});

t.test('a change of the metadata reaches cache, targets and plugin', async (t) => {
  const { world, at } = await installedWorld(t);
  await putMetadata(world, at, { name: 'Renamed', visibility: 'public' });
  t.match(await world.control(at), { PlasmoSite: { sync: { meta: 'stale' } } });
  const calls = world.calls.length;
  await world.finish();
  const renamed = { ...SHOWN, name: 'Renamed' };
  t.same(await world.control(at), { PlasmoSite: renamed, ToxoSite: renamed });
  t.match(world.dataset(at).metadata, { name: 'Renamed', visibility: 'public' });
  t.same(world.calls.slice(calls).sort(), ['installMeta PlasmoSite', 'installMeta ToxoSite']);
  t.match(world.plugin.installed.get(`${PLASMO}/${at.dataset}`), { metadata: { name: 'Renamed' } });
});

t.test('a property that is added, replaced or removed makes what is installed stale', async (t) => {
  const { world, at } = await installedWorld(t);
  const key = fileKey(at, 'datasetProperties', 'p.tsv');
  const changes = [
    () => world.store.put(key, Buffer.from('x'), {}, never),
    () => world.store.put(key, Buffer.from('xy'), {}, never),
    () => world.store.remove([key], never),
  ];
  for (const [i, change] of changes.entries()) {
    await change();
    t.match(await world.control(at), { PlasmoSite: { sync: { meta: 'stale' } } });
    const calls = world.calls.length;
    await world.finish();
    t.same(await world.control(at), { PlasmoSite: SHOWN, ToxoSite: SHOWN });
    t.equal(world.calls.length, calls + 2);
    const { properties } = world.plugin.installed.get(`${PLASMO}/${at.dataset}`) ?? {};
    t.same(properties, i < 2 ? ['p.tsv'] : []);
    const etag = (await world.store.head(key, never))?.etag;
    t.same(world.dataset(at).files.property, i < 2 ? [{ name: 'p.tsv', size: i + 1, etag }] : [], 'the cache lists it');
  }
});

t.test("what the plugin says of one target's metadata is kept, final, and shown to nobody else", async (t) => {
  const answers = [
    [{ kind: 'invalid', validation: { basic: ['name is taken'], community: [] } }, 'failed-validation'],
    [{ kind: 'script-error', message: 'name is taken' }, 'failed-installation'],
  ] as const;
  for (const [answer, status] of answers) {
    const { world, at } = await worldBefore(t, 'updateMeta');
    world.plugin.decide = ({ target }) => (target === PLASMO ? answer : undefined);
    await world.finish();
    const refused = { ...SHOWN, meta: [status, 'name is taken'], shown: false };
    t.same(await world.control(at), { PlasmoSite: refused, ToxoSite: SHOWN });
    t.match(await world.record(at), { installs: { 'PlasmoSite meta': [status, 'name is taken'] } });
    const calls = world.calls.length;
    world.event('updateMeta', at);
    await world.finish();
    t.equal(world.calls.length, calls);
    world.plugin.decide = () => undefined;
    await putMetadata(world, at, {});
    await world.finish();
    t.same(await world.control(at), { PlasmoSite: SHOWN, ToxoSite: SHOWN }, 'new metadata are tried');
  }
});

t.test('attempts are counted for a target alone', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta');
  world.plugin.decide = ({ target }) => {
    if (target === PLASMO) throw transient('busy');
    return undefined;
  };
  t.match(await world.run('updateMeta'), { kind: 'retry', delayMs: 1_000, countsAttempt: false });
  t.same(await world.attempts(at), ['PlasmoSite meta 1 started']);
  t.match(await world.control(at), { PlasmoSite: { meta: ['queued', 'attempt 1 of 12: busy'] }, ToxoSite: SHOWN });
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: { meta: ['failed-installation', 'busy'], shown: false } });
  t.same([await world.attempts(at), world.jobRows()], [[], []]);
  t.equal(world.calls.filter((call) => call === 'installMeta PlasmoSite').length, 12);
  t.equal(world.calls.filter((call) => call === 'installMeta ToxoSite').length, 1);
});

t.test('a target that is away does not hold back the first install on the others', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const writing = targetAway(world, PLASMO, ['write']);
  const reading = targetAway(world, PLASMO, ['state', 'begin']);
  writing.reason = reading.reason = transient('PlasmoSite refused', { unreachable: true });
  await world.run('import');
  t.same(await world.run('updateMeta'), { kind: 'done' });
  await world.run('install');
  t.same(await world.control(at), { ToxoSite: SHOWN });
  t.match(await world.record(at), {
    installs: { 'PlasmoSite data': ['queued', 'attempt 1 of 12: PlasmoSite refused'] },
  });
  reading.reason = undefined;
  await world.clock.advanceToNext();
  await world.run('install');
  writing.reason = undefined;
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: SHOWN, ToxoSite: SHOWN });
  t.same(await world.attempts(at), []);
});

t.test('a target that is away, where no data are, does not keep the update of the others from its end', async (t) => {
  for (const [away, other] of [
    [PLASMO, TOXO],
    [TOXO, PLASMO],
  ] as const) {
    const { world, at } = await worldBefore(t, 'install');
    world.plugin.decide = ({ target }) => (target === away ? { kind: 'script-error', message: 'no' } : undefined);
    await world.finish();
    targetAway(world, away, ['state']).reason = transient(`${away} refused`, { unreachable: true });
    await putMetadata(world, at, { name: 'Renamed' });
    await world.run('import');
    t.same(await world.run('updateMeta'), { kind: 'done' }, away);
    t.match(await world.control(at), { [other]: { ...SHOWN, name: 'Renamed' } });
  }
});

t.test('a target that is away waits for the change of what is installed there', async (t) => {
  const { world, at } = await installedWorld(t);
  await putMetadata(world, at, { name: 'Renamed' });
  const away = targetAway(world, PLASMO, ['state']);
  away.reason = transient('PlasmoSite refused', { unreachable: true });
  await world.run('import');
  t.match(await world.run('updateMeta'), { kind: 'retry', countsAttempt: false });
  t.match(await world.record(at), {
    installs: {
      'PlasmoSite meta': ['queued', 'attempt 1 of 12: PlasmoSite refused'],
      'ToxoSite meta': ['complete'],
    },
  });
  away.reason = undefined;
  await world.finish();
  const renamed = { ...SHOWN, name: 'Renamed' };
  t.same(await world.control(at), { PlasmoSite: renamed, ToxoSite: renamed });
  t.same(await world.attempts(at), []);
});

t.test('the mirror is brought in line when a crash came before it was written', async (t) => {
  const { world, at } = await installedWorld(t);
  const before = await world.record(at);
  world.catalog.datasets.set(at.dataset, { ...world.dataset(at), installs: [] });
  world.event('updateMeta', at);
  await world.finish();
  t.same(await world.record(at), before);
});

t.test('running left by a crash is done again', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta');
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  for (const target of world.targets.values())
    await target.write(at.dataset, { messages: { meta: { status: 'running' } } }, token, never);
  await world.finish();
  t.same(await world.control(at), { PlasmoSite: SHOWN, ToxoSite: SHOWN });
});

t.test('nothing is done for a dataset that is deleted, superseded, or without metadata in the store', async (t) => {
  for (const state of ['deleting', 'deleted', 'pruning', 'superseded', 'live'] as const) {
    const { world, at } = await worldBefore(t, 'updateMeta');
    if (state === 'live') await world.store.remove([objectKey(at, 'vdi-meta.json')], never);
    else world.catalog.datasets.set(at.dataset, { ...world.dataset(at), state });
    const [record, control, calls] = [await world.record(at), await world.control(at), world.calls.length];
    t.same(await world.run('updateMeta'), { kind: 'done' });
    t.same([await world.record(at), await world.control(at), world.calls.length], [record, control, calls], state);
  }
});

t.test('a dataset that the cache does not know is registered before its import', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  const other = await world.before('install');
  const archive = await world.store.get(objectKey(other, 'import-ready.zip'), undefined, never);
  const metadata = { ...world.dataset(other).metadata, owner: at.owner };
  await world.store.put(objectKey(at, 'import-ready.zip'), archive?.body ?? Buffer.alloc(0), {}, never);
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(serializeMetadata(metadata)), {}, never);
  world.jobs.enqueue({ lane: 'updateMeta', ...at, eventId: 9, source: 'full-reconciler' });
  const { process, job } = await claimed(world, 'updateMeta');
  t.same(await process.perform(job), { kind: 'done' });
  t.same(await world.record(at), {
    state: 'live',
    upload: { status: 'success', message: undefined },
    import: { status: 'queued', messages: [] },
    installs: {},
    files: { upload: [], document: [], property: [] },
    sync: { meta: 'current', data: 'none' },
  });
});

t.test('a job that fails as a whole is told of where data are installed, nowhere else', async (t) => {
  const world = new LaneWorld(t.testdir());
  world.plugin.decide = ({ target }) => (target === TOXO ? { kind: 'script-error', message: 'no' } : undefined);
  const at = await world.before('updateMeta');
  const key = fileKey(at, 'datasetProperties', '');
  const list = world.store.list.bind(world.store);
  world.store.list = (prefix, options, signal) => {
    if (prefix === key) throw rejected('the store has no such folder');
    return list(prefix, options, signal);
  };
  t.match(await world.run('updateMeta'), { kind: 'dead', failure: 'rejected' });
  world.store.list = list;
  const { installs } = (await world.record(at)) as { installs: object };
  t.same(installs, {
    'PlasmoSite data': ['complete'],
    'PlasmoSite meta': ['failed-installation', 'the store has no such folder'],
    'ToxoSite data': ['failed-installation', 'no'],
  });
});

t.test('an update whose lease was taken over changes no status and is given back', async (t) => {
  const { world, at } = await worldBefore(t, 'updateMeta');
  const { process, job } = await claimed(world, 'updateMeta');
  world.plugin.decide = () => {
    world.leases.release(job.lease, process.id);
    return undefined;
  };
  t.same(await process.perform(job), { kind: 'requeue', crashed: false });
  t.match(await world.record(at), { installs: { 'PlasmoSite meta': ['running'], 'ToxoSite meta': ['running'] } });
});

async function putMetadata(world: LaneWorld, at: DatasetAddress, more: Partial<DatasetMetadata>): Promise<void> {
  const metadata = { ...world.dataset(at).metadata, ...more };
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(serializeMetadata(metadata)), {}, never);
}
