import t from 'tap';
import type { LeaseHolder } from '../../../actors/jobs/lease-renewer.ts';
import { preemption } from '../../../actors/jobs/preemption.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { ClaimedJob } from '../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { worldBefore } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';

const never = new AbortController().signal;
const GRACE_MS = 30_000;

/** A process that has claimed the job of the lane, performs it until something aborts it, and has the daemon run. */
async function working(world: LaneWorld, lane: 'upload' | 'import' | 'install') {
  const process = world.process();
  const job = await process.claim(lane);
  if (!job) throw new Error(`no job of lane ${lane}`);
  const stop = new AbortController();
  const aborts: string[] = [];
  const holder: LeaseHolder = {
    held: (): readonly ClaimedJob[] => [job],
    abortJob: (id, reason) => {
      aborts.push(`${id === job.id} ${reason.message}`);
      stop.abort(reason);
      return true;
    },
  };
  const parts = { clock: world.clock, log: silentLogger(), metrics: new Metrics(), random: () => 0.5 };
  const daemon = preemption({
    jobs: process.jobs,
    holders: [{ held: () => [], abortJob: () => false }, holder],
    ...parts,
  });
  await daemon.start(never);
  const ended = process.perform(job, stop.signal);
  return {
    aborts,
    end: async () => {
      const outcome = await ended;
      await process.complete(job, outcome);
      await daemon.stop(world.clock.now() + GRACE_MS);
      return outcome;
    },
  };
}

t.test('an import or install of a dataset that is deleted ends at once, and does nothing afterwards', async (t) => {
  for (const lane of ['import', 'install'] as const) {
    const world = new LaneWorld(t.testdir());
    const at = await world.before(lane);
    const called = Promise.withResolvers<void>();
    world.plugin.decide = ({ kind }) => {
      if (kind === 'uninstall') return undefined;
      called.resolve();
      return new Promise(() => {});
    };
    const work = await working(world, lane);
    await called.promise;
    await world.clock.advance(60_000);
    t.same(work.aborts, [], 'nothing is stopped while nothing waits');
    await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
    world.deliver();
    await world.clock.advance(11_000);
    t.same(await work.end(), { kind: 'requeue', crashed: false });
    t.same([...new Set(work.aborts)], [`true dataset ${at.dataset} is waiting to be deleted`]);
    const calls = world.calls.length;
    await world.finish();
    t.same([world.dataset(at).state, world.jobRows(), world.leases.held()], ['deleted', [], []]);
    t.notOk(
      world.calls.slice(calls).some((call) => /import|install(Data|Meta)/.test(call)),
      lane,
    );
  }
});

t.test('a process that runs nothing that could give way does not ask', async (t) => {
  const { world } = await worldBefore(t, 'upload');
  const process = world.process();
  const job = await process.claim('upload');
  let asked = 0;
  const daemon = preemption({
    jobs: {
      async overtaken() {
        asked++;
        return [];
      },
    },
    holders: [{ held: () => (job ? [job] : []), abortJob: () => false }],
    ...{ clock: world.clock, log: silentLogger(), metrics: new Metrics(), random: () => 0.5 },
  });
  await daemon.start(never);
  await world.clock.advance(60_000);
  await daemon.stop(world.clock.now() + GRACE_MS);
  t.equal(asked, 0);
});

t.test('an upload goes on', async (t) => {
  const { world, at } = await worldBefore(t, 'upload');
  const work = await working(world, 'upload');
  await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
  world.deliver();
  await world.clock.advance(30_000);
  t.same([await work.end(), work.aborts], [{ kind: 'done' }, []]);
});
