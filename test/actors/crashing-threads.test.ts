// A job that kills its thread, on the real parts: a lane, the job table in PostgreSQL, worker threads. It fails alone;
// the jobs that were in the thread with it run once more, each alone (docs/design/decisions.md#from-a-change-to-a-job).

import t, { type Test } from 'tap';
import type { JobHandler } from '../../actors/jobs/job-handler.ts';
import { jobLane } from '../../actors/jobs/job-lane.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { WorkerPool } from '../../engine/threads/worker-pool.ts';
import { request } from '../conformance/jobs.ts';
import { type FixtureData, type FixtureTasks, flags, raise, reached } from '../engine/fixtures/fixture-tasks.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../support/engine-process.ts';

const never = new AbortController().signal;
const NEIGHBOURS = ['n1', 'n2', 'n3', 'n4', 'n5'];
const at = await cacheDatabase(t);

/** A lane of real parts over one shared thread, whose jobs do `run`. */
async function setup(t: Test, run: (pool: WorkerPool<FixtureTasks>) => Omit<JobHandler, 'lane'>) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const parts = { clock: systemClock, log: silentLogger(), metrics: new Metrics() };
  const workerData: FixtureData = { greeting: 'hello', sessions: flags() };
  const pool = new WorkerPool<FixtureTasks>({
    ...parts,
    name: 'pool',
    filename: new URL('../engine/fixtures/task-thread.ts', import.meta.url),
    workerData,
    threads: 1,
    tasksPerThread: 10,
    maxOldGenerationSizeMb: 32,
  });
  const jobs = new PostgresJobs(db, instance, systemClock);
  const lane = jobLane({
    ...parts,
    handler: { lane: 'import', ...run(pool) },
    jobs,
    types: new DataTypes([], []),
    breakers: undefined,
    tuning: { inMemoryQueueSize: 10, workerCount: 10, retry: { attempts: 12, baseMs: 1, maxMs: 1 } },
    random: () => 0,
  });
  await pool.start(never);
  await lane.start(never);
  t.teardown(async () => {
    lane.kill();
    pool.kill();
    await Promise.all([lane.stop(0), pool.stop(0)]);
  });
  const enqueue = (...datasets: string[]): Promise<void> =>
    jobs.enqueue(
      datasets.map((dataset) => request('import', dataset)),
      never,
    );
  /** What is left in the job table once the lane has written what it knows. */
  const left = async (): Promise<readonly object[]> => {
    await lane.stop(systemClock.now() + 10_000);
    return db.query('select dataset_id, lane, state, failure, message, attempts from job order by dataset_id');
  };
  return { enqueue, left, metrics: parts.metrics };
}

const fatal = [
  ['exhausts the heap', 'outOfMemory', null, 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ['ends its thread', 'exit', 3, 'worker exited with code: 3'],
] as const;

for (const [what, task, input, reason] of fatal) {
  t.test(`a job that ${what} is given up; its neighbours run once more, and the lane goes on`, async (t) => {
    const runs = new Map<string, string[]>();
    const reports: string[] = [];
    const together = flags();
    const free = flags();
    raise(free, 1);
    const ends = new Map(['culprit', 'later', ...NEIGHBOURS].map((name) => [name, Promise.withResolvers<void>()]));
    const { enqueue, left, metrics } = await setup(t, (pool) => ({
      async run({ dataset, alone }, signal) {
        const seen = runs.get(dataset) ?? [];
        runs.set(dataset, seen);
        const how = alone ? 'alone' : 'with others';
        try {
          if (dataset === 'culprit') {
            // Until all of them are in its thread.
            await reached(together, 0, NEIGHBOURS.length);
            await pool.run(task as 'exit', input as number, { signal, alone });
          } else {
            const gate = alone || dataset === 'later' ? free : together;
            await pool.run('gate', gate, { signal, alone });
          }
        } catch (error) {
          seen.push(`${how}: ${kindOf(error)}`);
          throw error;
        }
        seen.push(`${how}: done`);
        ends.get(dataset)?.resolve();
        return { kind: 'done' };
      },
      async report({ dataset }, { kind, message }) {
        reports.push(`${dataset} ${kind}: ${message}`);
        ends.get(dataset)?.resolve();
      },
    }));
    await enqueue('culprit', ...NEIGHBOURS);
    await Promise.all(['culprit', ...NEIGHBOURS].map((name) => ends.get(name)?.promise));
    await enqueue('later');
    await ends.get('later')?.promise;

    const message = `its worker crashed 3 times while the job ran alone: the worker thread died: ${reason}`;
    t.strictSame(await left(), [
      { dataset_id: 'culprit', lane: 'import', state: 'dead', failure: 'defect', message, attempts: 1 },
    ]);
    const died = ['with others: aborted', 'alone: aborted', 'alone: aborted', 'alone: aborted'];
    t.strictSame(Object.fromEntries(runs), {
      culprit: died,
      ...Object.fromEntries(NEIGHBOURS.map((name) => [name, ['with others: aborted', 'alone: done']])),
      later: ['with others: done'],
    });
    t.strictSame(reports, [`culprit dead: ${message}`]);
    const text = await metrics.text();
    t.match(text, 'longshore_worker_thread_deaths_total{kind="shared"} 1\n');
    t.match(text, 'longshore_worker_thread_deaths_total{kind="solo"} 3\n');
  });
}
