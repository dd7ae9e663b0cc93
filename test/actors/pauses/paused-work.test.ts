import t, { type Test } from 'tap';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import { Paused, pausableTypes } from '../../../actors/pauses/paused-work.ts';
import { PausesInForce } from '../../../actors/pauses/pauses-in-force.ts';
import { DataTypes } from '../../../engine/model/data-types.ts';
import { targetId, type UserId } from '../../../engine/model/ids.ts';
import { serializeMetadata } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, objectKey } from '../../../engine/model/object-key.ts';
import type { JobOutcome, JobRequest } from '../../../engine/ports/jobs.ts';
import type { PauseKind } from '../../../engine/ports/pauses.ts';
import { defect } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { FakePauses, PauseTable } from '../../fakes/fake-pauses.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';
import { installedWorld, worldBefore } from '../../support/lane-start.ts';
import type { LaneWorld } from '../../support/lane-world.ts';
import { targetAway } from '../../support/target-away.ts';

const never = new AbortController().signal;
const DONE: JobOutcome = { kind: 'done' };
const type = (name: string, plugin: string) => ({
  ...{ name, version: '1', plugin, category: name, installTargets: [], maxFileSize: 1, usesDataProperties: false },
});

/** A lane with one worker and a mailbox of two. `finish` ends the job that runs. */
async function setup(t: Test) {
  const clock = new VirtualClock();
  const types = new DataTypes([type('a', 'alpha'), type('b', 'beta')] as never, []);
  const table = new JobTable(clock, new LeaseTable(clock), (dataset) => `${dataset[0]}:1`);
  const jobs = new FakeJobs(table, 1);
  const port = new FakePauses(new PauseTable(table));
  const names = { lane: ['import'], plugin: ['alpha', 'beta'], target: [] };
  const inForce = new PausesInForce(port, names, { clock, log: silentLogger(), metrics: new Metrics() });
  t.teardown(() => inForce[Symbol.dispose]());
  const breakers = pausableTypes({ blockedTypes: () => [], watch: () => () => undefined }, types, inForce);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const lane = jobLane({
    handler: {
      lane: 'import',
      run: async (job) => {
        begun.push(job.dataset);
        await new Promise<void>((resolve) => ends.push(resolve));
        return DONE;
      },
      report: async () => {},
    },
    ...{ jobs, types, breakers, clock, pauses: { inForce }, log: silentLogger(), metrics: new Metrics() },
    tuning: { inMemoryQueueSize: 2, workerCount: 1, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    random: () => 0,
  });
  await lane.start(never);
  t.teardown(() => lane.kill());
  const switched = async (kind: PauseKind, name: string, on: boolean): Promise<void> => {
    if (on) await port.set({ kind, name, by: 'user 42', reason: undefined, until: undefined }, never);
    else await port.end({ kind, name }, never);
    await inForce.refresh(never);
    await clock.settle();
  };
  return {
    begun,
    pause: (kind: PauseKind, name: string) => switched(kind, name, true),
    resume: (kind: PauseKind, name: string) => switched(kind, name, false),
    rows: () => table.rows.map(({ dataset, state, attempts }) => `${dataset} ${state} ${attempts}`),
    async enqueue(...datasets: string[]): Promise<void> {
      const request = { lane: 'import', eventId: 1, source: 'api' } as const;
      const requests = datasets.map((dataset) => ({ ...request, dataset, owner: '42' as UserId }) as JobRequest);
      await jobs.enqueue(requests, never);
      await clock.settle();
    },
    async finish(count = 1): Promise<void> {
      for (let i = 0; i < count; i++) {
        ends.shift()?.();
        await clock.settle();
      }
    },
  };
}

t.test('a paused lane finishes what runs and begins nothing; resumed, it goes on in order', async (t) => {
  const { begun, pause, resume, rows, enqueue, finish } = await setup(t);
  await enqueue('a1', 'a2', 'a3', 'a4');
  t.same(begun, ['a1']);
  await pause('lane', 'import');
  await finish();
  t.same(begun, ['a1'], 'those that were claimed go back');
  t.same(rows(), ['a2 queued 0', 'a3 queued 0', 'a4 queued 0'], 'the outcome of the first is written');
  await enqueue('a5');
  await resume('lane', 'import');
  await finish(4);
  t.same([begun, rows()], [['a1', 'a2', 'a3', 'a4', 'a5'], []]);
});

t.test('the jobs of a paused plugin wait and others pass them; resumed, they run in order', async (t) => {
  const { begun, pause, resume, rows, enqueue, finish } = await setup(t);
  await pause('plugin', 'alpha');
  await enqueue('a1', 'a2', 'b1', 'b2');
  await finish(2);
  t.same(
    [begun, rows()],
    [
      ['b1', 'b2'],
      ['a1 queued 0', 'a2 queued 0'],
    ],
  );
  await resume('plugin', 'alpha');
  await finish(2);
  t.same([begun, rows()], [['b1', 'b2', 'a1', 'a2'], []]);
});

async function switchWorld(world: LaneWorld, kind: PauseKind, name: string, on: boolean): Promise<void> {
  const order = { kind, name, by: 'user 42', reason: undefined, until: undefined };
  if (on) await world.pauses.set(order, never);
  else await world.pauses.end(order, never);
  await world.pausesInForce.refresh(never);
}
const pauseIn = (world: LaneWorld, kind: PauseKind, name: string) => switchWorld(world, kind, name, true);
const resumeIn = (world: LaneWorld, kind: PauseKind, name: string) => switchWorld(world, kind, name, false);

/** What a job that waits for the pause looks like in the table. */
function waitingJob(world: LaneWorld, what: string) {
  const since = new Date(world.clock.now()).toISOString();
  return { state: 'delayed', attempts: 0, message: `${what}: paused by user 42 since ${since}` };
}

const SHOWN = { data: ['complete'], meta: ['complete'], shown: true };

t.test('a paused target gets no data, and the others do; resumed, it gets them at once', async (t) => {
  const { world, at } = await worldBefore(t, 'install');
  await pauseIn(world, 'target', PLASMO);
  const outcome = await world.run('install');
  t.match(outcome, { kind: 'retry', countsAttempt: false });
  const waiting = waitingJob(world, 'target PlasmoSite');
  const control = await world.control(at);
  t.match(control.ToxoSite, SHOWN);
  t.notMatch(world.calls.join(), 'PlasmoSite', 'no plugin is called for it');
  t.match(
    world.jobs.view().filter(({ lane }) => lane === 'install'),
    [waiting],
  );
  t.same(await world.attempts(at), ['PlasmoSite data 0 started'], 'no attempt is counted');
  t.notMatch(JSON.stringify(await world.record(at)), 'user 42', 'its owner reads nothing of who paused');
  await resumeIn(world, 'target', PLASMO);
  t.match(await world.run('install'), { kind: 'done' });
  await world.finish();
  t.match(await world.control(at), { PlasmoSite: SHOWN, ToxoSite: SHOWN });
  t.same(world.jobRows(), []);
});

async function rename(world: LaneWorld, at: DatasetAddress, name = 'Other genes'): Promise<void> {
  const metadata = { ...world.dataset(at).metadata, name };
  await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(serializeMetadata(metadata)), {}, never);
  // A change of the metadata may make an import due, which goes first.
  await world.run('import');
}

t.test('updates of metadata, shares and deletes of a paused target wait, and those of others do not', async (t) => {
  const cases: readonly (readonly [
    'updateMeta' | 'sharing' | 'softDelete',
    (w: LaneWorld, at: DatasetAddress) => Promise<void>,
  ])[] = [
    ['updateMeta', rename],
    ['sharing', (world, at) => world.share(at, { recipient: '71' as UserId, offer: 'grant', receipt: 'accept' })],
    [
      'softDelete',
      async (world, at) => void (await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never)),
    ],
  ];
  for (const [lane, change] of cases) {
    const { world, at } = await installedWorld(t);
    const before = (await world.control(at)).ToxoSite;
    // Targets may share a control schema, so what is shown does not tell which one was written.
    const writes = targetAway(world, PLASMO, ['write', 'writeVisibility', 'setDeleted', 'purge', 'removeMessage']);
    await pauseIn(world, 'target', PLASMO);
    writes.reason = defect('written while it is paused');
    await change(world, at);
    t.match(await world.run(lane), { kind: 'retry', countsAttempt: false }, lane);
    t.match(
      world.jobs.view().filter((job) => job.lane === lane),
      [waitingJob(world, 'target PlasmoSite')],
      lane,
    );
    t.notSame((await world.control(at)).ToxoSite, before, lane);
    writes.reason = undefined;
    await resumeIn(world, 'target', PLASMO);
    t.same(await world.run(lane), { kind: 'done' }, lane);
    const after = await world.control(at);
    t.same(after.PlasmoSite, after.ToxoSite, lane);
  }
});

t.test('a deleted dataset of a paused plugin is hidden at once and uninstalled later', async (t) => {
  const { world, at } = await installedWorld(t, { metadata: { installTargets: [TOXO] } });
  await pauseIn(world, 'plugin', 'genes');
  await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
  t.match(await world.run('softDelete'), { kind: 'retry', countsAttempt: false });
  t.match(world.jobs.view(), [waitingJob(world, 'plugin genes')]);
  t.match(await world.control(at), { ToxoSite: { deleted: 2 } });
  await resumeIn(world, 'plugin', 'genes');
  t.same(await world.run('softDelete'), { kind: 'done' });
  t.match(await world.control(at), { ToxoSite: { deleted: 1 } });
});

t.test(
  'a second edit while a target is paused reaches the others at once, and the target when it is resumed',
  async (t) => {
    const { world, at } = await installedWorld(t);
    await pauseIn(world, 'target', PLASMO);
    await rename(world, at, 'First name');
    t.match(await world.run('updateMeta'), { kind: 'retry', countsAttempt: false });
    const called = world.calls.length;
    await rename(world, at, 'Second name');
    t.match(await world.run('updateMeta'), { kind: 'retry', countsAttempt: false });
    t.same(world.calls.slice(called), ['installMeta ToxoSite']);
    await resumeIn(world, 'target', PLASMO);
    t.same(await world.run('updateMeta'), { kind: 'done' });
    t.same(world.calls.slice(called + 1), ['installMeta PlasmoSite']);
    const { PlasmoSite, ToxoSite } = await world.control(at);
    t.same(PlasmoSite, ToxoSite);
  },
);

t.test('a pause is a transient failure that counts no attempt and names the operator', (t) => {
  const since = new Date(Date.UTC(2026, 0, 1));
  const error = new Paused({
    ...{ kind: 'target', name: targetId('AlphaDB'), by: 'user 42', since },
    ...{ reason: 'secret plans', until: undefined },
  });
  t.match(error, { kind: 'transient', unreachable: true });
  t.equal(error.message, 'target AlphaDB: paused by user 42 since 2026-01-01T00:00:00.000Z');
  t.end();
});
