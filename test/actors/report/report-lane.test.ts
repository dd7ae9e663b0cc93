import t from 'tap';
import { reportLane } from '../../../actors/report/report-lane.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { at, idOf, requestOf, rulesAt, signal, tenantOf } from '../../conformance/report-world.ts';
import { FakeReportJobs, FakeReportQueue, ReportTable } from '../../fakes/fake-report-jobs.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

for (const [queueSize, workerCount] of [
  [20, 4],
  [1, 1],
  [5, 1],
] as const)
  t.test(
    `of ${workerCount} places with ${queueSize} waiting in memory, the next is for whoever has none, however many jobs wait`,
    async (t) => {
      const clock = new VirtualClock(at(1_000).getTime());
      const table = new ReportTable();
      const jobs = new FakeReportJobs(table);
      const begun: string[] = [];
      const ends: (() => void)[] = [];
      const lane = reportLane({
        queue: new FakeReportQueue(table),
        run: {
          run: async ({ id }) => {
            begun.push(id);
            await new Promise<void>((resolve) => ends.push(resolve));
            return { kind: 'complete', ended: new Date(clock.now()), files: [], stderr: '' };
          },
        },
        ...{ queueSize, workerCount, clock, log: silentLogger(), metrics: new Metrics(), random: () => 0 },
      });
      t.teardown(() => lane.kill());
      await lane.start(signal);
      const ask = async (n: number, user: number): Promise<void> => {
        const rules = rulesAt(n, { maxQueued: 1_000, tenant: tenantOf(user) });
        t.equal(await jobs.submit(requestOf(n), undefined, rules, signal), 'queued');
        await clock.settle();
      };
      for (let n = 1; n <= 100; n++) await ask(n, 1);
      const most = Math.max(1, workerCount - 1);
      t.equal(begun.length, most, 'one alone has all places but one');
      await ask(101, 2);
      if (most === workerCount) ends.shift()?.();
      await clock.settle();
      t.equal(begun[most], idOf(101));
      await ask(102, 3);
      for (let i = 0; i < 2; i++) {
        ends.shift()?.();
        await clock.settle();
      }
      t.ok(begun.includes(idOf(102)), 'with two others the next but one');
      // Everybody's jobs end, and nobody's share is left unused while any of theirs waits.
      while (begun.length < 102) {
        ends.shift()?.();
        await clock.settle();
        t.ok(ends.length >= most);
      }
    },
  );

t.test('a job that waits for its turn while a worker is free is not counted as forgotten', async (t) => {
  const clock = new VirtualClock(at(1_000).getTime());
  const table = new ReportTable();
  const jobs = new FakeReportJobs(table);
  const metrics = new Metrics();
  const ends: (() => void)[] = [];
  const lane = reportLane({
    queue: new FakeReportQueue(table),
    run: {
      run: async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return { kind: 'complete', ended: new Date(clock.now()), files: [], stderr: '' };
      },
    },
    ...{ queueSize: 20, workerCount: 4, clock, log: silentLogger(), metrics, random: () => 0 },
  });
  t.teardown(() => lane.kill());
  await lane.start(signal);
  for (let n = 1; n <= 5; n++)
    await jobs.submit(requestOf(n), undefined, rulesAt(1_000, { maxQueued: 9, tenant: tenantOf(1) }), signal);
  await clock.settle();
  t.equal(ends.length, 3, 'one user alone has all workers but one');
  await clock.advance(60_000);
  ends.shift()?.();
  await clock.settle();
  t.equal(ends.length, 3, 'the next has its turn');
  const text = await metrics.text();
  const observed = (series: string): string | undefined =>
    text.match(`longshore_lane_idle_wait_seconds_${series} (\\d+)`)?.[1];
  t.equal(observed('bucket\\{le="1",lane="report"\\}'), observed('count\\{lane="report"\\}'));
  t.not(observed('count\\{lane="report"\\}'), undefined);
});
