import t from 'tap';
import { Scratch } from '../../../actors/jobs/scratch.ts';
import { UploadLane } from '../../../actors/lanes/upload-lane.ts';
import type { ReceivedFiles } from '../../../actors/plugin-host/received-files.ts';
import type { TaskRunner } from '../../../actors/tasks/task-map.ts';
import { datasetPrefix } from '../../../engine/model/object-key.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { aborted, transient } from '../../../engine/runtime/failure.ts';
import { tarGzOf, zipOf } from '../../fixtures/archives.ts';
import { digestedFile } from '../../support/digested-files.ts';
import { InProcessTasks } from '../../support/in-process-tasks.ts';
import { acceptedWorld, claimed } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const never = new AbortController().signal;

const PACKED = { kind: 'done', did: 'upload packed and stored' };

t.test('an upload becomes import-ready.zip, a manifest and a status, and its raw files go', async (t) => {
  const world = new LaneWorld(t.testdir());
  const archive = await tarGzOf({ 'a.txt': 'alpha', 'sub/b.txt': 'beta', '__MACOSX/._a.txt': 'x' });
  const at = await world.accept({ files: { 'genes.tgz': archive }, properties: { 'p.tsv': 'x' } });
  t.same(world.keys(at), ['datasetProperties/p.tsv', 'raw/genes.tgz', 'vdi-meta.json']);
  t.same(await world.run('upload'), { kind: 'done' });
  const files = [digestedFile('a.txt', 'alpha'), digestedFile('sub/b.txt', 'beta')];
  t.same(await world.record(at), {
    state: 'live',
    upload: {
      status: 'success',
      message: "left out, as files that desktops and office programs add: '__MACOSX/._a.txt'",
    },
    import: { status: 'queued', messages: [] },
    installs: {},
    files: { document: [], property: [{ name: 'p.tsv', size: 1 }], upload: files },
    sync: { meta: 'current', data: 'none' },
  });
  t.same(world.keys(at), ['datasetProperties/p.tsv', 'import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
  const archives = await world.archive(at, 'import-ready.zip');
  t.same(world.json(at, 'vdi-manifest.json'), { rawUploads: files, installReady: [], archives });
  t.same(await world.contents(at, 'import-ready.zip'), { 'a.txt': 'alpha', 'sub/b.txt': 'beta' });
  t.same(world.jobRows(), ['import queued', 'updateMeta queued']);
  t.equal(await world.uploads.usage(at.owner, never), 0, 'nothing is left under raw/; the store counts the rest');
  t.equal(await world.uploads.source(at.dataset, never), undefined);
});

t.test(
  'files that were received as they are, are linked when they are packed and kept when they are removed',
  async (t) => {
    const { world, at } = await acceptedWorld(t, { files: { 'b.txt': 'beta', 'a.txt': 'alpha' } });
    const steps: unknown[] = [];
    const received: Pick<ReceivedFiles, 'link'> = {
      async link(plugin, archive, files) {
        steps.push(['link', plugin, archive.key, files.map(({ key, name, size }) => [key, name, size])]);
        t.equal(world.dataset(at).upload.status, 'success', 'the status has been written');
        t.ok(world.keys(at).includes('raw/a.txt'));
        for (const { key, etag } of [archive, ...files]) t.equal((await world.store.head(key, never))?.etag, etag);
        const note = (step: string) => async (): Promise<void> => void steps.push([step, world.keys(at)]);
        return { keep: note('keep'), drop: note('drop') };
      },
    };
    const tasks = new InProcessTasks({ store: world.store, plugins: new Map() });
    const process = world.process();
    const { types, uploadLimits } = world.settings;
    const ports = { ...world, ...world.settings, tasks, received };
    const lane = new UploadLane(ports, types, uploadLimits, new Scratch(t.testdir()));
    const { job } = await claimed(world, 'upload', process);
    t.same(await lane.run(job, never), PACKED);
    const key = (name: string): string => datasetPrefix(at) + name;
    t.same(steps, [
      [
        'link',
        'genes',
        key('import-ready.zip'),
        [
          [key('raw/b.txt'), 'b.txt', 4],
          [key('raw/a.txt'), 'a.txt', 5],
        ],
      ],
      ['keep', ['import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']],
    ]);
    t.same(await lane.run(job, never), { kind: 'done' });
    t.equal(steps.length, 2, 'a job that is repeated has nothing to keep');
  },
);

t.test('the files of an archive are not there as files', async (t) => {
  const { world } = await acceptedWorld(t, { files: { 'genes.tgz': await tarGzOf({ 'a.txt': 'alpha' }) } });
  const received = { link: () => Promise.reject(new Error('there is nothing to link')) };
  const tasks = new InProcessTasks({ store: world.store, plugins: new Map() });
  const { types, uploadLimits } = world.settings;
  const lane = new UploadLane({ ...world, tasks, received }, types, uploadLimits, new Scratch(t.testdir()));
  const { job } = await claimed(world, 'upload');
  t.same(await lane.run(job, never), PACKED);
});

t.test('an upload that the user has to mend is rejected, says why, and leaves no raw files', async (t) => {
  const refused = {
    "'genes.csv' has a file extension that this data type does not allow; allowed: .txt": { 'genes.csv': 'a,b' },
    'genes.zip: the archive is empty': { 'genes.zip': Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`, 'latin1') },
    "genes.zip: 'x.csv' has a file extension that this data type does not allow; allowed: .txt": {
      'genes.zip': await zipOf({ 'x.csv': 'a' }),
    },
    'genes.tgz: its name says tar.gz archive, but its content is not one': { 'genes.tgz': 'no' },
    'genes.txt has 100001 bytes; at most 100000 are allowed per file': { 'genes.txt': 'x'.repeat(100_001) },
  };
  for (const [message, files] of Object.entries(refused)) {
    const { world, at } = await acceptedWorld(t, { files });
    t.same(await world.run('upload'), { kind: 'invalid', message });
    t.same(world.dataset(at).upload, { status: 'rejected', message });
    t.same(world.json(at, 'upload-error.json'), { status: 'rejected', message });
    t.same(world.keys(at), ['upload-error.json', 'vdi-meta.json']);
    await world.finish();
    t.same(world.jobRows(), []);
    t.same(world.calls, []);
  }
});

t.test('an upload that fails for other reasons says which try it is, and at last that it failed', async (t) => {
  const { world, at } = await acceptedWorld(t);
  world.store.onCall = failing('get', 'the store is away');
  for (let attempts = 1; attempts < 12; attempts++) {
    t.match(await world.run('upload'), { kind: 'retry', countsAttempt: true, message: 'the store is away' });
    t.same(world.dataset(at).upload, { status: 'running', message: `attempt ${attempts} of 12: the store is away` });
    await world.clock.advanceToNext();
  }
  t.same(await world.run('upload'), { kind: 'dead', failure: 'transient', message: 'the store is away' });
  t.same(world.dataset(at).upload, { status: 'failed', message: 'the store is away' });
  t.same(world.json(at, 'upload-error.json'), { status: 'failed', message: 'the store is away' });
  t.same(world.keys(at), ['raw/genes.txt', 'upload-error.json', 'vdi-meta.json']);
  t.match(world.jobRows(), ['import queued', 'updateMeta queued', 'upload dead']);
});

t.test('an upload that was not reached uses up no try', async (t) => {
  const { world, at } = await acceptedWorld(t);
  world.store.onCall = () => {
    throw transient('refused', { unreachable: true });
  };
  for (let attempts = 0; attempts < 20; attempts++) {
    t.match(await world.run('upload'), { kind: 'retry', countsAttempt: false });
    await world.clock.advanceToNext();
  }
  t.same(world.dataset(at).upload, { status: 'running', message: 'attempt 1 of 12: refused' });
});

t.test('an upload that has ended does not fail because its raw files cannot be removed just now', async (t) => {
  const { world, at } = await acceptedWorld(t);
  world.store.onCall = failing('discard', 'the store is away', '/raw/');
  t.match(await world.run('upload'), { kind: 'retry' });
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  world.store.onCall = () => {};
  await world.clock.advanceToNext();
  t.same(await world.run('upload'), { kind: 'done' });
  t.same(world.keys(at), ['import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
});

t.test('a job whose lease was lost changes no status and is given back', async (t) => {
  const { world, at } = await acceptedWorld(t);
  const before = await world.record(at);
  const { process, job } = await claimed(world, 'upload');
  world.leases.release(job.lease, process.id);
  world.leases.take(at.dataset, process.id);
  t.same(await process.perform(job), { kind: 'requeue', crashed: false });
  t.same(await world.record(at), before);
  t.equal(world.keys(at).includes('raw/genes.txt'), true);
});

t.test('a stop while the task runs gives the job back, whatever the task makes of it', async (t) => {
  const { world, at } = await acceptedWorld(t);
  const stop = new AbortController();
  const { process, job } = await claimed(world, 'upload', world.process(undefined, brokenBy(stop)));
  t.same(await process.perform(job, stop.signal), { kind: 'requeue', crashed: false });
  t.same(world.dataset(at).upload, { status: 'running', message: undefined });
});

function failing(method: keyof ObjectStore, message: string, part = ''): (called: string, key: string) => void {
  return (called, key) => {
    if (called === method && key.includes(part)) throw transient(message);
  };
}

/** A runner whose task is stopped from outside and dies of something else. */
function brokenBy(stop: AbortController): TaskRunner {
  return {
    async run() {
      stop.abort(aborted('shutdown'));
      throw new Error('premature close');
    },
  };
}
