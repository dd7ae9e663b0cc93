import t from 'tap';
import { defect } from '../../engine/failure.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { FakeJobAdmin } from '../fakes/fake-job-admin.ts';
import { LaneWorld, type RunningLane } from '../support/lane-world.ts';

const never = new AbortController().signal;

/** What an administrator does with the dead job of the lane. */
async function retry(world: LaneWorld, lane: RunningLane, at: DatasetAddress): Promise<string> {
  const row = world.jobs.get(lane, at.dataset);
  if (row?.state !== 'dead') throw new Error(`the ${lane} job is ${row?.state ?? 'not there'}`);
  return new FakeJobAdmin(world.jobs, world.catalog.datasets).retry(row.id, never);
}

t.test('a dead import that is retried runs again, and the dataset is installed', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('import');
  const sound = world.plugin.decide;
  world.plugin.decide = () => {
    throw defect('answered 302');
  };
  t.match(await world.run('import'), { kind: 'dead' });
  t.same(world.dataset(at).import, { status: 'failed', messages: ['answered 302'] });

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

t.test('a dead import that fails again after its retry is failed again', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.before('import');
  world.plugin.decide = () => {
    throw defect('answered 302');
  };
  await world.run('import');
  await retry(world, 'import', at);
  t.match(await world.run('import'), { kind: 'dead' });
  t.same(world.dataset(at).import, { status: 'failed', messages: ['answered 302'] });
  t.same([world.calls, world.jobs.get('import', at.dataset)?.state], [['import', 'import'], 'dead']);
});

t.test('a dead upload that is retried runs again', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = await world.accept();
  const broken = world.process(undefined, {
    run: async () => {
      throw defect('a bug in packing');
    },
  });
  t.match(await world.run('upload', broken), { kind: 'dead' });
  t.same(world.dataset(at).upload, { status: 'failed', message: 'a bug in packing' });

  t.equal(await retry(world, 'upload', at), 'queued');
  t.same(world.dataset(at).upload, { status: 'running', message: undefined });
  await world.finish();
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  t.same(world.dataset(at).import, { status: 'complete', messages: [] });
  t.notOk(world.keys(at).includes('upload-error.json'), 'the old error is gone');
});
