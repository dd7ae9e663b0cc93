import t from 'tap';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import { defect, transient } from '../../engine/runtime/failure.ts';
import { FakeJobAdmin } from '../fakes/fake-job-admin.ts';
import { PLASMO } from '../support/dataset-samples.ts';
import { acceptedWorld, worldBefore } from '../support/lane-start.ts';
import type { LaneWorld, RunningLane } from '../support/lane-world.ts';

const never = new AbortController().signal;

/** What an administrator does with the job of the lane. */
async function retry(world: LaneWorld, lane: RunningLane, at: DatasetAddress): Promise<string> {
  const row = world.jobs.get(lane, at.dataset);
  if (!row) throw new Error(`there is no ${lane} job`);
  return new FakeJobAdmin(world.jobs, world.catalog).retry(row.id, never);
}

t.test('a dead import that is retried runs again, and the dataset is installed', async (t) => {
  const { world, at } = await worldBefore(t, 'import');
  const sound = world.plugin.decide;
  world.plugin.decide = () => {
    throw defect('answered 302');
  };
  t.match(await world.run('import'), { kind: 'dead' });
  t.same(world.dataset(at).import, { status: 'failed', messages: ['an internal error; an administrator can see why'] });

  world.plugin.decide = sound;
  t.equal(await retry(world, 'import', at), 'queued');
  t.same(world.dataset(at).import, { status: 'queued', messages: [] });
  await world.finish();
  t.same(world.dataset(at).import, { status: 'complete', messages: [] });
  t.same(world.jobRows(), []);
  t.same(
    world.dataset(at).installs.map(({ status }) => status),
    ['complete', 'complete', 'complete', 'complete'],
  );
});

t.test('a dead upload that is retried runs again', async (t) => {
  const { world, at } = await acceptedWorld(t);
  const broken = world.process(undefined, {
    run: async () => {
      throw defect('a bug in packing');
    },
  });
  t.match(await world.run('upload', broken), { kind: 'dead' });
  t.same(world.dataset(at).upload, {
    status: 'failed',
    message: 'an internal error; an administrator can see why',
  });

  t.equal(await retry(world, 'upload', at), 'queued');
  t.same(world.dataset(at).upload, { status: 'running', message: undefined });
  await world.finish();
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  t.same(world.dataset(at).import, { status: 'complete', messages: [] });
  t.notOk(world.keys(at).includes('upload-error.json'), 'the old error is gone');
});

t.test('a delayed install that is retried goes to its waiting target at once', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  world.plugin.decide = ({ target }) => {
    if (target === PLASMO) throw transient('busy');
    return undefined;
  };
  t.match(await world.run('install'), { kind: 'retry' });
  t.same(await world.attempts(at), ['PlasmoSite data 1 started']);

  world.plugin.decide = () => undefined;
  t.equal(await retry(world, 'install', at), 'queued');
  t.same(await world.attempts(at), ['PlasmoSite data 0 started']);
  t.same(await world.run('install'), { kind: 'done' }, 'without any wait');
  t.match(await world.control(at), { PlasmoSite: { data: ['complete'] }, ToxoSite: { data: ['complete'] } });
  t.ok(world.calls.includes('uninstall PlasmoSite'), 'what had begun there is taken away first');
});

t.test('a dead install that is retried runs again', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  const key = objectKey(at, 'vdi-manifest.json');
  const manifest = Buffer.from(world.store.text(key) ?? '');
  await world.store.put(key, Buffer.from('no json'), {}, never);
  t.match(await world.run('install'), { kind: 'dead' });

  await world.store.put(key, manifest, {}, never);
  t.equal(await retry(world, 'install', at), 'queued');
  await world.finish();
  t.match(await world.record(at), {
    installs: { 'PlasmoSite data': ['complete'], 'ToxoSite data': ['complete'] },
  });
});
