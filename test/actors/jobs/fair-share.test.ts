// One user fills a lane a hundred deep; somebody else comes last, with one job.

import t, { type Test } from 'tap';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import { LANES, type LaneName } from '../../../engine/model/event.ts';
import type { JobOutcome, JobRequest } from '../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { TWO_PLUGINS } from '../../support/two-plugins.ts';

const never = new AbortController().signal;
const [FLOODER, OTHER] = ['1', '2'];

async function setup(t: Test, lane: LaneName, inMemoryQueueSize: number, workerCount: number) {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => 'genes:1.0');
  const jobs = new FakeJobs(table, 1);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const child = jobLane({
    handler: {
      lane,
      run: async ({ owner }) => {
        begun.push(owner);
        await new Promise<void>((resolve) => ends.push(resolve));
        return { kind: 'done' } satisfies JobOutcome;
      },
      report: async () => {},
    },
    ...{ jobs, types: TWO_PLUGINS, breakers: undefined, clock, random: () => 0 },
    tuning: { inMemoryQueueSize, workerCount, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    ...{ log: silentLogger(), metrics: new Metrics() },
  });
  t.teardown(() => child.kill());
  let datasets = 0;
  const enqueue = async (owner: string, count: number): Promise<void> => {
    const request = { lane, owner, eventId: 1, source: 'api' } as const;
    const all = Array.from({ length: count }, () => ({ ...request, dataset: `d${++datasets}` }) as JobRequest);
    await jobs.enqueue(all, never);
    await clock.settle();
  };
  const endOne = async (): Promise<void> => {
    ends.shift()?.();
    await clock.advance(5);
  };
  await child.start(never);
  await clock.settle();
  return { clock, enqueue, endOne, begun, ends };
}

for (const lane of LANES)
  for (const [queue, workers] of [
    [10, 4],
    [100, 20],
    [1, 1],
    [9, 1],
  ] as const)
    t.test(`${lane}: with ${workers} workers, the one job of another user is the next to begin`, async (t) => {
      const { clock, enqueue, endOne, begun, ends } = await setup(t, lane, queue, workers);
      await enqueue(FLOODER, 200);
      const most = Math.max(1, workers - 1);
      t.equal(begun.length, most, 'one alone has all workers but one');
      for (let i = 0; i < 5; i++) await endOne();
      await enqueue(OTHER, 1);
      const before = begun.length - (most < workers ? 1 : 0);
      if (most === workers) await endOne();
      t.equal(begun[before], OTHER);
      const at = clock.now();
      while (ends.length > 0) await endOne();
      t.equal(begun.length, 201, 'all jobs were done');
      t.ok(clock.now() - at < 1_500, 'and none waited for a poll');
    });
