import t from 'tap';
import { type LeaseHolder, LeaseKeeper } from '../../../actors/jobs/lease-keeper.ts';
import { transient } from '../../../engine/failure.ts';
import { silentLogger } from '../../../engine/log.ts';
import type { ClaimedJob } from '../../../engine/ports/jobs.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

/** A lane that holds jobs d1, d2, .. with fresh leases, and a keeper that runs. */
function setup(names: readonly string[]) {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  const leases = new FakeLeases(table, 1);
  const jobs = names.map((name, i) => {
    const lease = table.take(name, 1);
    if (!lease) throw new Error(`no lease ${name}`);
    return { id: i + 1, lane: 'import', dataset: name, lease } as unknown as ClaimedJob;
  });
  const aborts: string[] = [];
  const lane: LeaseHolder & { jobs: ClaimedJob[] } = {
    jobs,
    held: () => lane.jobs,
    abortJob: (id, reason) => aborts.push(`${id} ${reason.message}`) > 0,
  };
  const stop = new AbortController();
  const keeper = new LeaseKeeper(leases, [{ held: () => [], abortJob: () => false }, lane], clock, silentLogger());
  const running = keeper.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, table, leases, lane, aborts, end };
}

t.test('leases of claimed jobs are kept for as long as they are held', async (t) => {
  const { clock, table, aborts, lane, end } = setup(['d1', 'd2']);
  await clock.advance(600_000);
  t.same([table.held(), aborts], [['d1', 'd2'], []]);
  lane.jobs = lane.jobs.slice(1);
  await clock.advance(40_000);
  t.same(table.held(), ['d2']);
  await end();
});

t.test('a job whose lease was taken over is stopped, the others go on', async (t) => {
  const { clock, table, aborts, lane, end } = setup(['d1', 'd2']);
  const [first] = lane.jobs;
  if (!first) throw new Error('no job');
  table.release(first.lease, 1);
  table.take('d1', 2);
  await clock.advance(10_000);
  t.same(aborts, ['1 lease of d1 lost: taken over']);
  await end();
});

t.test('jobs are stopped before their leases run out when these cannot be renewed', async (t) => {
  const { clock, table, leases, aborts, end } = setup(['d1']);
  await clock.advance(10_000);
  leases.renew = async () => {
    throw transient('the cache database is away');
  };
  await clock.advance(25_000);
  t.same(aborts, []);
  await clock.advance(3_000);
  t.same(aborts, ['1 lease of d1 lost: not renewed in time']);
  t.same(table.held(), ['d1']);
  await end();
});

t.test('a job that was never renewed is stopped before its lease runs out, too', async (t) => {
  const { clock, leases, aborts, end } = setup(['d1']);
  leases.renew = async () => {
    throw transient('the cache database is away');
  };
  await clock.advance(29_000);
  t.same(aborts, ['1 lease of d1 lost: not renewed in time']);
  await end();
});

t.test('a renewal without an answer is one that failed', async (t) => {
  const { clock, leases, aborts, end } = setup(['d1']);
  leases.renew = () => new Promise(() => {});
  await clock.advance(35_000);
  t.same(aborts, ['1 lease of d1 lost: not renewed in time']);
  await end();
});

t.test('a short failure stops nobody', async (t) => {
  const { clock, table, leases, aborts, end } = setup(['d1']);
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
  const { clock, table, leases, lane, aborts, end } = setup(['d1']);
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
  const { clock, leases, aborts, end } = setup(['d1']);
  leases.renew = (_leases, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await clock.advance(10_000);
  await end();
  t.same(aborts, []);
});

t.test('after a gap all leases are renewed at once', async (t) => {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  const lease = table.take('d1', 1);
  const job = { id: 1, lane: 'import', dataset: 'd1', lease } as unknown as ClaimedJob;
  const aborts: string[] = [];
  const lane = { held: () => [job], abortJob: (_id: number, reason: Error) => aborts.push(reason.message) > 0 };
  const stop = new AbortController();
  const keeper = new LeaseKeeper(new FakeLeases(table, 1), [lane], clock, silentLogger());
  const running = keeper.run(stop.signal);
  table.release(job.lease, 1);
  table.take('d1', 2);
  keeper.renewSoon();
  await clock.settle();
  t.same(aborts, ['lease of d1 lost: taken over']);
  stop.abort();
  await running;
});

t.test('a process that stood still stops what it held before it asks for anything', async (t) => {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  let asked = 0;
  class Counting extends FakeLeases {
    override renew(...args: Parameters<FakeLeases['renew']>): ReturnType<FakeLeases['renew']> {
      asked++;
      return super.renew(...args);
    }
  }
  // Timers that fell due meanwhile fire when it goes on, not before.
  const missed: (() => void)[] = [];
  const after = clock.after.bind(clock);
  const lease = table.take('d1', 1);
  const job = { id: 1, lane: 'import', dataset: 'd1', lease } as unknown as ClaimedJob;
  const aborts: (readonly [number, string])[] = [];
  const lane: LeaseHolder = {
    held: () => [job],
    abortJob: (_id, reason) => aborts.push([asked, reason.message]) > 0,
  };
  const slow = { now: () => clock.now(), sleep: clock.sleep.bind(clock), after };
  slow.after = (ms, fire) => after(ms, () => void missed.push(fire));
  const stop = new AbortController();
  const running = new LeaseKeeper(new Counting(table, 1), [lane], slow, silentLogger()).run(stop.signal);
  await clock.advance(60_000);
  for (const fire of missed) fire();
  await clock.settle();
  t.same(aborts, [[0, 'lease of d1 lost: not renewed in time']]);
  stop.abort();
  await running;
});

t.test('a job that was claimed while a round stood still is stopped at the end of the round', async (t) => {
  const clock = new VirtualClock();
  const table = new LeaseTable(clock);
  const jobOf = (id: number, dataset: string) =>
    ({ id, lane: 'import', dataset, lease: table.take(dataset, 1) }) as unknown as ClaimedJob;
  const held = [jobOf(1, 'd1')];
  const aborts: string[] = [];
  const lane: LeaseHolder = { held: () => held, abortJob: (_id, reason) => aborts.push(reason.message) > 0 };
  // The answer comes, or rather does not, a minute later; meanwhile the lane has claimed another job.
  class Standing extends FakeLeases {
    override async renew(): Promise<never> {
      held.push(jobOf(2, 'd2'));
      await clock.sleep(60_000);
      throw new Error('no answer');
    }
  }
  const missed: (() => void)[] = [];
  const after = (_ms: number, fire: () => void) => () => void missed.push(fire);
  const slow = { now: () => clock.now(), sleep: clock.sleep.bind(clock), after };
  const round = new LeaseKeeper(new Standing(table, 1), [lane], slow, silentLogger()).renewAll(
    new AbortController().signal,
  );
  await clock.advance(60_000);
  t.equal(await round, false);
  t.same(aborts.sort(), ['lease of d1 lost: not renewed in time', 'lease of d2 lost: not renewed in time']);
});
