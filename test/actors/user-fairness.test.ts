// One user has a hundred jobs in a lane; another one comes last.

import t, { type Test } from 'tap';
import { jobLane } from '../../actors/jobs/job-lane.ts';
import { LANES, type LaneName } from '../../engine/model/event.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { JobOutcome } from '../../engine/ports/jobs.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { TWO_PLUGINS, twoPluginJobs } from '../support/two-plugins.ts';

const never = new AbortController().signal;
const FLOOD = 100;
const [FLOODER, OTHER] = ['1', '2'] as UserId[] as [UserId, UserId];

/** A lane whose jobs end when they are told to, the oldest first. */
async function setup(t: Test, name: LaneName, inMemoryQueueSize: number, workerCount: number) {
  const { clock, jobs } = twoPluginJobs();
  const begun: UserId[] = [];
  const ends: ((outcome: JobOutcome) => void)[] = [];
  const lane = jobLane({
    handler: {
      lane: name,
      run: ({ owner }) => {
        begun.push(owner);
        return new Promise((resolve) => ends.push(resolve));
      },
      report: async () => {},
    },
    jobs,
    types: TWO_PLUGINS,
    breakers: undefined,
    tuning: { inMemoryQueueSize, workerCount, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    clock,
    log: silentLogger(),
    metrics: new Metrics(),
    random: () => 0,
  });
  t.teardown(() => lane.kill());
  await lane.start(never);
  let datasets = 0;
  const enqueue = async (owner: UserId, count: number): Promise<void> => {
    const request = { lane: name, owner, eventId: 1, source: 'api' } as const;
    const dataset = (): DatasetId => `genes-${++datasets}` as DatasetId;
    await jobs.enqueue(
      Array.from({ length: count }, () => ({ ...request, dataset: dataset() })),
      never,
    );
    await clock.advance(10);
  };
  const endOne = async (): Promise<boolean> => {
    const end = ends.shift();
    end?.({ kind: 'done' });
    await clock.advance(10);
    return end !== undefined;
  };
  return { begun, enqueue, endOne };
}

for (const lane of LANES)
  for (const [queueSize, workers] of [
    [20, 5],
    [4, 2],
    [1, 1],
  ] as const)
    t.test(`${lane}, ${workers} at a time: the job of another is the next to begin`, async (t) => {
      const { begun, enqueue, endOne } = await setup(t, lane, queueSize, workers);
      await enqueue(FLOODER, FLOOD);
      const most = Math.max(1, workers - 1);
      t.equal(begun.length, most, 'one alone has all workers but one');
      await enqueue(OTHER, 1);
      // Where all workers are taken it has to wait for one of the jobs that run, and for no other.
      let ended = 0;
      while (!begun.includes(OTHER) && (await endOne())) ended++;
      t.comment(`began after ${ended} of the ${FLOOD} jobs of another had ended`);
      t.equal(ended, workers - most === 0 ? 1 : 0);
      while (await endOne());
      t.equal(begun.length, FLOOD + 1, 'and all are done in the end');
    });
