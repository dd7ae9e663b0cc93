import t from 'tap';
import { type LeaseHolder, LeaseRenewer } from '../../../actors/jobs/lease-renewer.ts';
import type { ClaimedJob } from '../../../engine/ports/jobs.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

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
