import t from 'tap';
import { type LeaseHolder, LeaseRenewer, preemption } from '../../../actors/jobs/lease-renewer.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { ClaimedJob } from '../../../engine/ports/jobs.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { worldBefore } from '../../support/lane-start.ts';
import { LaneWorld } from '../../support/lane-world.ts';

/**
 * A lane that holds jobs d1, d2, .. with fresh leases, and a keeper that runs. Where the process `stands`, timers that
 * fall due fire when it goes on, not before.
 */
function setup(names: readonly string[], { stands = false } = {}) {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  const leases = new FakeLeases(table, 1);
  const claim = (name: string, i: number) => {
    const lease = table.take(name, 1);
    if (!lease) throw new Error(`no lease ${name}`);
    return { id: i + 1, lane: 'import', dataset: name, lease } as unknown as ClaimedJob;
  };
  const aborts: string[] = [];
  const lane: LeaseHolder & { jobs: ClaimedJob[] } = {
    jobs: names.map(claim),
    held: () => lane.jobs,
    abortJob: (id, reason) => aborts.push(`${id} ${reason.message}`) > 0,
  };
  const stop = new AbortController();
  const missed: (() => void)[] = [];
  const after = (ms: number, fire: () => void) => clock.after(ms, stands ? () => void missed.push(fire) : fire);
  const slow = { now: () => clock.now(), sleep: clock.sleep.bind(clock), after };
  const keeper = new LeaseRenewer(leases, [{ held: () => [], abortJob: () => false }, lane], slow, silentLogger());
  const run = () => {
    const running = keeper.run(stop.signal);
    return async (): Promise<void> => {
      stop.abort();
      await running;
    };
  };
  return { clock, table, leases, claim, lane, aborts, missed, keeper, run };
}

t.test('leases of claimed jobs are kept for as long as they are held', async (t) => {
  const { clock, table, aborts, lane, run } = setup(['d1', 'd2']);
  const end = run();
  await clock.advance(600_000);
  t.same([table.held(), aborts], [['d1', 'd2'], []]);
  lane.jobs = lane.jobs.slice(1);
  await clock.advance(40_000);
  t.same(table.held(), ['d2']);
  await end();
});

t.test('a job whose lease was taken over is stopped, the others go on', async (t) => {
  const { clock, table, aborts, lane, run } = setup(['d1', 'd2']);
  const end = run();
  const [first] = lane.jobs;
  if (!first) throw new Error('no job');
  table.release(first.lease, 1);
  table.take('d1', 2);
  await clock.advance(10_000);
  t.same(aborts, ['1 lease of d1 lost: taken over']);
  await end();
});

t.test('jobs are stopped before their leases run out when these cannot be renewed', async (t) => {
  const { clock, table, leases, aborts, run } = setup(['d1']);
  const end = run();
  await clock.advance(10_000);
  leases.renew = async () => {
    throw transient('the cache database is away');
  };
  await clock.advance(25_000);
  t.same(aborts, []);
  await clock.advance(3_000);
  t.same(aborts, ['1 lease of d1 lost: not renewed within the deadline']);
  t.same(table.held(), ['d1']);
  await end();
});

t.test('a job that was never renewed, or got no answer, is stopped before its lease runs out, too', async (t) => {
  // A renewal that nobody answers is given up after half of the interval, and asked for again.
  const answers = [
    [() => Promise.reject(transient('the cache database is away')), 29_000, 8],
    [() => new Promise<never>(() => {}), 35_000, 4],
  ] as const;
  for (const [renew, ms, times] of answers) {
    const { clock, leases, aborts, run } = setup(['d1']);
    let asked = 0;
    leases.renew = () => {
      asked++;
      return renew();
    };
    const end = run();
    await clock.advance(ms);
    t.same([aborts, asked], [['1 lease of d1 lost: not renewed within the deadline'], times]);
    await end();
  }
});

t.test('a short failure stops nobody', async (t) => {
  const { clock, table, leases, aborts, run } = setup(['d1']);
  const end = run();
  const renew = leases.renew.bind(leases);
  leases.renew = async () => {
    throw transient('the cache database is away');
  };
  await clock.advance(10_000);
  leases.renew = renew;
  await clock.advance(100_000);
  t.same([table.held(), aborts], [['d1'], []]);
  await end();
});

t.test('a job that ends while its lease is renewed is not called lost', async (t) => {
  const { clock, table, leases, lane, aborts, run } = setup(['d1']);
  const end = run();
  const renew = leases.renew.bind(leases);
  leases.renew = async (wanted, signal) => {
    for (const job of lane.jobs) table.release(job.lease, 1);
    lane.jobs = [];
    return renew(wanted, signal);
  };
  await clock.advance(10_000);
  t.same(aborts, []);
  await end();
});

t.test('the end during a renewal stops nobody', async (t) => {
  const { clock, leases, aborts, run } = setup(['d1']);
  const end = run();
  leases.renew = (_leases, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await clock.advance(10_000);
  await end();
  t.same(aborts, []);
});

t.test('after a gap all leases are renewed at once', async (t) => {
  const { clock, table, keeper, lane, aborts, run } = setup(['d1']);
  const end = run();
  for (const { lease } of lane.jobs) table.release(lease, 1);
  table.take('d1', 2);
  keeper.renewSoon();
  await clock.settle();
  t.same(aborts, ['1 lease of d1 lost: taken over']);
  await end();
});

t.test('a process that stood still stops what it held before it asks for anything', async (t) => {
  const { clock, leases, aborts, missed, run } = setup(['d1'], { stands: true });
  const renew = leases.renew.bind(leases);
  leases.renew = (...wanted) => {
    aborts.push('asked');
    return renew(...wanted);
  };
  const end = run();
  await clock.advance(60_000);
  for (const fire of missed) fire();
  await clock.settle();
  t.equal(aborts[0], '1 lease of d1 lost: not renewed within the deadline');
  await end();
});

t.test('a job that was claimed while a round stood still is stopped at the end of the round', async (t) => {
  const { clock, leases, claim, lane, aborts, keeper } = setup(['d1'], { stands: true });
  // The answer comes, or rather does not, a minute later; meanwhile the lane has claimed another job.
  leases.renew = async () => {
    lane.jobs.push(claim('d2', 1));
    await clock.sleep(60_000);
    throw new Error('no answer');
  };
  const round = keeper.renewAll(new AbortController().signal);
  await clock.advance(60_000);
  t.equal(await round, false);
  t.same(aborts.sort(), [
    '1 lease of d1 lost: not renewed within the deadline',
    '2 lease of d2 lost: not renewed within the deadline',
  ]);
});

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
