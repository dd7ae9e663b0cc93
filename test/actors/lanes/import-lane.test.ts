import t from 'tap';
import { serialiseManifest, serializeMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import type { JobOutcome } from '../../../engine/ports/jobs.ts';
import { defect, transient } from '../../../engine/runtime/failure.ts';
import type { FakeOutcome } from '../../fakes/fake-plugin-client.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { metadataOf, newAddress, PLASMO } from '../../support/dataset-samples.ts';
import { digestedFile } from '../../support/digested-files.ts';
import { acceptedWorld, claimed, installedWorld, worldBefore } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const never = new AbortController().signal;
const INTERNAL = 'an internal error; an administrator can see why';
const FILES = [digestedFile('genes.txt', 'PF3D7_0100000\n')];

t.test('an import stores what the plugin made of the upload, with its warnings', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  world.plugin.decide = () => ({ kind: 'success', validation: { basic: ['one', 'two'], community: ['three'] } });
  t.same(await world.run('import'), { kind: 'done' });
  t.same(await world.record(at), {
    state: 'live',
    upload: { status: 'success', message: undefined },
    import: { status: 'complete', messages: ['one', 'two', 'three'] },
    installs: {},
    files: { document: [], property: [], upload: FILES, install: FILES },
    sync: { meta: 'current', data: 'current' },
  });
  t.same(world.keys(at), ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
  const archives = {
    ...(await world.archive(at, 'import-ready.zip')),
    ...(await world.archive(at, 'install-ready.zip')),
  };
  t.same(world.json(at, 'vdi-manifest.json'), { rawUploads: FILES, installReady: FILES, archives });
  t.same(await world.contents(at, 'install-ready.zip'), { 'genes.txt': 'PF3D7_0100000\n' });
  t.same(world.jobRows(), ['install queued', 'updateMeta queued']);
  t.same(world.plugin.calls, [{ kind: 'import', eventId: 3, dataset: at.dataset }]);
});

t.test('what was imported is installed although the store never announced it', async (t) => {
  const world = new LaneWorld(t.testdir());
  await world.before('import');
  const process = world.process();
  const job = await process.claim('import');
  t.ok(job);
  // None of the changes is delivered.
  if (job) await process.complete(job, await process.perform(job));
  t.same(world.jobRows(), ['install queued', 'updateMeta queued']);
});

t.test('what the user sent stays in the manifest as the upload lane wrote it down', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const manifest = { rawUploads: [{ name: 'as/sent.txt', size: 5 }], installReady: [] };
  await world.store.put(objectKey(at, 'vdi-manifest.json'), Buffer.from(serialiseManifest(manifest)), {}, never);
  await world.run('import');
  const archives = await world.archive(at, 'install-ready.zip');
  t.same(world.json(at, 'vdi-manifest.json'), { rawUploads: manifest.rawUploads, installReady: FILES, archives });
});

t.test('a manifest that was lost is made anew from what the plugin was given', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  await world.store.remove([objectKey(at, 'vdi-manifest.json')], never);
  t.same(await world.run('import'), { kind: 'done' });
  const [file] = FILES.map(({ name, size }) => ({ name, size }));
  const archives = await world.archive(at, 'install-ready.zip');
  t.same(world.json(at, 'vdi-manifest.json'), { rawUploads: [file], installReady: FILES, archives });
  t.match(world.dataset(at).import, { status: 'complete' });
});

t.test('an answer of the plugin about the data is final, and replaces what was said before', async (t) => {
  const answers: readonly [FakeOutcome, object, JobOutcome][] = [
    [
      { kind: 'invalid', validation: { basic: ['no gene'], community: ['old'] } },
      { status: 'invalid', messages: ['no gene', 'old'] },
      { kind: 'invalid', message: 'no gene; old' },
    ],
    [
      { kind: 'invalid', validation: { basic: [], community: [] } },
      { status: 'invalid', messages: [] },
      { kind: 'invalid', message: 'the plugin refused the data without a message' },
    ],
    [
      { kind: 'script-error', message: 'exit code 3', exitCode: 3, output: 'oops' },
      { status: 'failed', messages: ['the import script of the plugin failed; an administrator has the details'] },
      { kind: 'failed', message: 'exit code 3', exitCode: 3, output: 'oops' },
    ],
  ];
  for (const [answer, expected, outcome] of answers) {
    const { world, at } = await worldBefore(t, 'import');
    world.plugin.decide = () => {
      throw transient('busy');
    };
    await world.run('import');
    t.same(world.dataset(at).import, { status: 'queued', messages: ['attempt 1 of 12: busy'] });
    world.plugin.decide = () => answer;
    await world.clock.advanceToNext();
    t.same(await world.run('import'), outcome);
    t.same(world.dataset(at).import, expected);
    await world.finish();
    t.same(world.keys(at), ['import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
    const archives = await world.archive(at, 'import-ready.zip');
    t.same(world.json(at, 'vdi-manifest.json'), { rawUploads: FILES, installReady: [], archives });
    t.same(world.jobRows(), []);
    world.event('import', at);
    await world.finish();
    t.same(world.calls, ['import', 'import'], 'a later event does not import again');
  }
});

t.test("a plugin server's own error is tried three times", async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  world.plugin.decide = () => ({ kind: 'server-error', message: 'disk full' });
  const outcomes: string[] = [];
  for (let i = 0; i < 3; i++) {
    outcomes.push((await world.run('import')).kind);
    await world.clock.advanceToNext();
  }
  t.same(outcomes, ['retry', 'retry', 'dead']);
  t.same(world.calls, ['import', 'import', 'import']);
  t.same(world.dataset(at).import, { status: 'failed', messages: ['plugin genes: disk full'] });
});

t.test('transient failures are counted in the message, and the last one fails the import', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  world.plugin.decide = () => {
    throw transient('no answer for 60 s');
  };
  for (let attempts = 1; attempts < 12; attempts++) {
    t.match(await world.run('import'), { kind: 'retry', countsAttempt: true });
    t.same(world.dataset(at).import, { status: 'queued', messages: [`attempt ${attempts} of 12: no answer for 60 s`] });
    await world.clock.advanceToNext();
  }
  t.same(await world.run('import'), { kind: 'dead', failure: 'transient', message: 'no answer for 60 s' });
  t.same(world.dataset(at).import, { status: 'failed', messages: ['no answer for 60 s'] });
});

t.test('a reply that breaks the protocol fails the import and says why', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  world.plugin.decide = () => {
    throw defect('answered 302');
  };
  t.same(await world.run('import'), { kind: 'dead', failure: 'defect', message: 'answered 302' });
  t.same(world.dataset(at).import, { status: 'failed', messages: [INTERNAL] });
});

t.test('a type without plugin fails the import with a message that names it', async (t) => {
  const { world, at } = await acceptedWorld(t, { metadata: { type: { name: 'rnaseq', version: '2.1' } } });
  await world.run('upload');
  await world.run('import');
  t.same(world.dataset(at).import, {
    status: 'failed',
    messages: ['no plugin is configured for data type rnaseq:2.1'],
  });
  await world.finish();
  t.same([world.calls, world.jobRows()], [[], []]);
});

t.test('in-progress left by a crash counts as queued', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const { process: dead, job } = await claimed(world, 'import');
  await world.catalog.write(at.dataset, job.lease, [{ set: 'import', status: 'in-progress', messages: [] }], never);
  world.leases.kill(dead.id);
  await world.run('import');
  t.same(world.dataset(at).import, { status: 'complete', messages: [] });
});

t.test('a repeated event that fails changes nothing of a complete import', async (t) => {
  for (const failure of [transient('the store is away'), defect('a bug')]) {
    const { world, at } = await worldBefore(t, 'install');
    const before = await world.record(at);
    world.event('import', at);
    world.store.onCall = () => {
      throw failure;
    };
    await world.run('import');
    world.store.onCall = () => {};
    t.same(await world.record(at), before);
  }
});

t.test('nothing is imported of a dataset that is deleted, superseded or not uploaded', async (t) => {
  for (const state of ['deleting', 'deleted', 'pruning', 'superseded'] as const) {
    const { world, at } = await worldBefore(t, 'import');
    world.catalog.datasets.set(at.dataset, { ...world.dataset(at), state });
    t.same(await world.run('import'), { kind: 'done' });
    t.same([world.calls, world.dataset(at).import.status], [[], 'queued'], state);
  }
  const { world, at } = await installedWorld(t, { files: { 'a.csv': 'x' } });
  world.event('import', at);
  await world.finish();
  t.same(world.calls, []);
});

t.test('events for datasets that nobody knows do nothing', async (t) => {
  for (const lane of ['upload', 'import', 'updateMeta', 'install'] as const) {
    const world = new LaneWorld(t.testdir());
    world.event(lane, newAddress());
    t.same(await world.run(lane), { kind: 'done' });
    t.same([world.store.keys(), world.catalog.datasets.size, world.jobRows()], [[], 0, []]);
  }
});

t.test('a dataset that only the object store knows is registered and imported', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  await putDataset(world, at);
  await world.finish();
  t.same(await world.record(at), {
    state: 'live',
    upload: { status: 'success', message: undefined },
    import: { status: 'complete', messages: [] },
    installs: { 'PlasmoSite data': ['complete'], 'PlasmoSite meta': ['complete'] },
    files: {
      upload: [{ name: 'a.txt', size: 1 }],
      install: [digestedFile('a.txt', 'a')],
      document: [],
      property: [],
    },
    sync: { meta: 'current', data: 'current' },
  });
});

t.test('a dataset that only the object store knows, imported and all, is not imported again', async (t) => {
  const { world, at } = await worldBefore(t, 'install', {
    documents: { 'read.me': 'hello' },
    properties: { 'p.tsv': 'x' },
  });
  const before = await world.record(at);
  world.dropCache();
  world.event('import', at);
  t.same(await world.run('import'), { kind: 'done' });
  t.strictSame([await world.record(at), world.calls], [before, ['import']]);
});

t.test('an upload under way is not registered from its objects', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  await world.uploads.begin(at, 1, { bytes: 1e9 }, never);
  await world.store.put(
    objectKey(at, 'vdi-meta.json'),
    Buffer.from(serializeMetadata(metadataOf(at.owner))),
    {},
    never,
  );
  await world.finish();
  t.equal(world.catalog.datasets.size, 0);
});

t.test('a deleted or superseded dataset that only the object store knows is not brought back', async (t) => {
  for (const flag of ['delete-flag', 'revised-flag'] as const) {
    const world = new LaneWorld(t.testdir());
    const at = newAddress();
    await world.store.put(objectKey(at, flag), Buffer.from(''), {}, never);
    await putDataset(world, at);
    await world.finish();
    t.same([world.dataset(at).state, world.calls], [flag === 'delete-flag' ? 'deleted' : 'superseded', []]);
  }
});

t.test('a metadata object that cannot be read costs its own job only', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  await putDataset(world, at);
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from('{'), {}, never);
  const other = await world.accept();
  await world.finish();
  t.same(world.jobRows(), ['import dead', 'updateMeta dead']);
  t.same(world.dataset(other).import.status, 'complete');
});

t.test('an import whose lease was lost changes no status and is given back', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const { process, job } = await claimed(world, 'import');
  world.plugin.decide = () => {
    world.leases.release(job.lease, process.id);
    return undefined;
  };
  t.same(await process.perform(job), { kind: 'requeue', crashed: false });
  t.same(world.dataset(at).import, { status: 'in-progress', messages: [] });
  world.plugin.decide = () => undefined;
  await world.run('import');
  t.same(world.dataset(at).import, { status: 'complete', messages: [] });
});

/** What a bucket holds of an uploaded dataset that a cache does not know. */
async function putDataset(world: LaneWorld, at: DatasetAddress): Promise<void> {
  const manifest = serialiseManifest({ rawUploads: [{ name: 'a.txt', size: 1 }], installReady: [] });
  await world.store.put(objectKey(at, 'vdi-manifest.json'), Buffer.from(manifest), {}, never);
  await world.store.put(objectKey(at, 'import-ready.zip'), await zipOf({ 'a.txt': 'a' }), {}, never);
  const metadata = serializeMetadata(metadataOf(at.owner, { installTargets: [PLASMO] }));
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(metadata), {}, never);
}
