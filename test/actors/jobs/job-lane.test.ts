import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { JobHandler } from '../../../actors/jobs/job-handler.ts';
import { jobLane } from '../../../actors/jobs/job-lane.ts';
import { DataTypes } from '../../../engine/model/data-types.ts';
import type { ClaimedJob, JobOutcome, JobRequest } from '../../../engine/ports/jobs.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { createLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { linesOf } from '../../support/log-lines.ts';

const never = new AbortController().signal;
const DONE: JobOutcome = { kind: 'done' };

/** A lane that runs, over one handler; ended with the test. */
async function setup(t: Test, handler: Partial<JobHandler>) {
  const clock = new VirtualClock();
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const jobs = new FakeJobs(table, 1);
  const metrics = new Metrics();
  const file = join(t.testdir(), 'log');
  const lane = jobLane({
    handler: { lane: 'import', run: async () => DONE, report: async () => {}, ...handler },
    jobs,
    types: new DataTypes([], []),
    breakers: undefined,
    tuning: { inMemoryQueueSize: 2, workerCount: 2, retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 } },
    clock,
    log: createLogger({ level: 'info', to: { file } }),
    metrics,
    random: () => 0,
  });
  await lane.start(never);
  t.teardown(() => lane.kill());
  const enqueue = async (...datasets: string[]): Promise<void> => {
    const request = { lane: 'import', eventId: 1, source: 'api' } as const;
    await jobs.enqueue(
      datasets.map((dataset, i) => ({ ...request, dataset, owner: String(42 + i) }) as JobRequest),
      never,
    );
    await clock.settle();
  };
  const rows = () => table.rows.map(({ dataset, state, attempts }) => `${dataset} ${state} ${attempts}`);
  const lines = async () => {
    await turn();
    return linesOf(file);
  };
  return { clock, table, lane, enqueue, rows, metrics, lines };
}

t.test('a job runs as soon as it is enqueued, and its row goes', async (t) => {
  const ran: string[] = [];
  const { enqueue, rows, table } = await setup(t, {
    run: async (job) => {
      ran.push(job.dataset);
      return DONE;
    },
  });
  await enqueue('d1', 'd2', 'd3');
  t.same([ran, rows(), table.leases.held()], [['d1', 'd2', 'd3'], [], []]);
});

t.test('a failed script is a failure in the log and in the counts, invalid data are not', async (t) => {
  const message = 'script import ended with exit code 7';
  const ends: Record<string, JobOutcome> = {
    d1: { kind: 'failed', message, exitCode: 7, output: 'no such table' },
    d2: { kind: 'invalid', message: 'no gene' },
  };
  const { enqueue, rows, metrics, lines } = await setup(t, { run: async ({ dataset }) => ends[dataset] ?? DONE });
  await enqueue('d1', 'd2');
  t.same(rows(), []);
  t.match(
    (await lines()).filter(({ dataset }) => dataset !== undefined),
    [
      { level: 'warn', msg: 'job failed', dataset: 'd1', outcome: 'failed', exitCode: 7, attempts: 1, reason: message },
      { level: 'info', msg: 'job ended', dataset: 'd2', outcome: 'invalid', reason: 'no gene' },
    ],
  );
  const counted = (await metrics.text()).match(/^longshore_lane_jobs_total.*$/gm);
  t.same(counted?.sort(), [
    'longshore_lane_jobs_total{lane="import",outcome="failed"} 1',
    'longshore_lane_jobs_total{lane="import",outcome="invalid"} 1',
  ]);
});

t.test('a failure is reported before its outcome is written, and tried until the attempts are used up', async (t) => {
  const reports: string[] = [];
  const { clock, enqueue, rows } = await setup(t, {
    run: async () => {
      throw transient('busy');
    },
    report: async (job, outcome) => {
      reports.push(`${outcome.kind} ${job.attempts} ${outcome.message}; row: ${rows()}`);
    },
  });
  await enqueue('d1');
  t.same(rows(), ['d1 delayed 1']);
  await clock.advance(1_000);
  t.same(rows(), ['d1 delayed 2']);
  await clock.advance(1_000);
  t.same(rows(), ['d1 dead 3']);
  t.same(reports, [
    'retry 0 attempt 1 of 3: busy; row: d1 running 0',
    'retry 1 attempt 2 of 3: busy; row: d1 running 1',
    'dead 2 busy; row: d1 running 2',
  ]);
});

t.test('a defect costs its own job only', async (t) => {
  const { enqueue, rows } = await setup(t, {
    run: async (job) => {
      if (job.dataset === 'd1') throw new TypeError('oops');
      return DONE;
    },
  });
  await enqueue('d1', 'd2');
  t.same(rows(), ['d1 dead 1']);
});

t.test('a job is not given up before somebody was told', async (t) => {
  let told = 0;
  const { clock, enqueue, rows } = await setup(t, {
    run: async () => {
      throw defect('a bug');
    },
    report: async () => {
      if (told++ === 0) throw transient('the cache database is away');
    },
  });
  await enqueue('d1');
  t.same(rows(), ['d1 delayed 0']);
  await clock.advance(1_000);
  t.same([rows(), told], [['d1 dead 1'], 2]);
});

t.test('a report that fails does not stop a job from being tried again', async (t) => {
  const { enqueue, rows } = await setup(t, {
    run: async () => {
      throw transient('busy');
    },
    report: async () => {
      throw transient('the cache database is away');
    },
  });
  await enqueue('d1');
  t.same(rows(), ['d1 delayed 1']);
});

t.test('a job that was aborted goes back, whatever its work made of the abort', async (t) => {
  const thrown = [aborted('stopped'), new Error('premature close'), transient('reset'), defect('cut off')];
  for (const error of thrown) {
    let runs = 0;
    const started = Promise.withResolvers<ClaimedJob>();
    const { clock, lane, enqueue, rows } = await setup(t, {
      run: async (job, signal) => {
        if (++runs > 1) return DONE;
        started.resolve(job);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw error;
      },
      report: async () => {
        t.fail('there is nothing to report');
      },
    });
    await enqueue('d1');
    const job = await started.promise;
    t.equal(lane.abortJob(job.id, aborted('lease of d1 lost')), true);
    await clock.settle();
    t.same([rows(), runs], [[], 2], error.message);
  }
});

t.test('a stop gives back what has not begun and waits for what runs', async (t) => {
  const finish = Promise.withResolvers<void>();
  const { clock, lane, enqueue, rows } = await setup(t, {
    run: async () => {
      await finish.promise;
      return DONE;
    },
  });
  await enqueue('d1', 'd2', 'd3', 'd4', 'd5');
  t.same(rows(), ['d1 running 0', 'd2 running 0', 'd3 running 0', 'd4 running 0', 'd5 queued 0'], 'two wait in memory');
  const stopped = lane.stop(clock.now() + 30_000);
  await clock.settle();
  t.same(rows(), ['d1 running 0', 'd2 running 0', 'd3 queued 0', 'd4 queued 0', 'd5 queued 0']);
  finish.resolve();
  await stopped;
  t.same(rows(), ['d3 queued 0', 'd4 queued 0', 'd5 queued 0']);
});
