// Exchanges of a lane that are under way at the same time.

import t, { type Test } from 'tap';
import { jobLane } from '../../../../actors/jobs/job-lane.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { Postgres } from '../../../../engine/adapters/postgres/postgres.ts';
import { DataTypes } from '../../../../engine/model/data-types.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { ClaimedJob, JobRequest } from '../../../../engine/ports/jobs.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { Metrics } from '../../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;
const TUNING = { inMemoryQueueSize: 40, workerCount: 10, retry: { tries: 3, baseMs: 10, maxMs: 100 } };
const DONE = { kind: 'done' } as const;
const dataset = (n: number): string => `d${String(n).padStart(4, '0')}`;
const requests = (count: number): JobRequest[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ lane: 'import', dataset: dataset(n) as DatasetId, eventId: n, source: 'object-store' },
    owner: String(1 + (n % 100)) as UserId,
  }));

/** The table as one process sees it through a pool of so many connections. */
async function openProcess(t: Test, poolSize: number) {
  const { instance } = await engineProcess(t, at);
  const options = { ...at, schema: 'cache', poolSize, idleTimeoutMs: 10_000, applicationName: `exchanges${poolSize}` };
  const db = new Postgres(options, silentLogger());
  const jobs = new PostgresJobs(db, instance, systemClock);
  t.teardown(async () => {
    await jobs[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });
  return { jobs, db, name: options.applicationName };
}

for (const poolSize of [1, 4])
  t.test(`exchanges under way at once are each answered, through a pool of ${poolSize}`, async (t) => {
    await emptyCache(at);
    const { jobs, db, name } = await openProcess(t, poolSize);
    await jobs.enqueue(requests(100), signal);
    const first = await jobs.exchange([], { ...CLAIM, limit: 10 }, signal);
    const completions = first.map((job) => ({ job, outcome: DONE }));
    const answers = await Promise.all([
      jobs.exchange(completions.slice(0, 5), { ...CLAIM, limit: 20 }, signal),
      jobs.exchange(completions.slice(5), { ...CLAIM, limit: 30 }, signal),
    ]);
    t.strictSame(
      answers.map((claimed) => claimed.map(({ dataset }) => dataset)),
      [Array.from({ length: 20 }, (_, n) => dataset(n + 10)), Array.from({ length: 30 }, (_, n) => dataset(n + 30))],
      'the second goes on where the first ended',
    );
    t.same(await db.query('select count(*)::int as left from job'), [{ left: 90 }]);
    t.same(
      await db.query('select count(*)::int as count from pg_stat_activity where application_name = $1', [name]),
      [{ count: 1 }],
      'on one connection',
    );
  });

t.test(
  'other statements of a process with one connection have their turn between the exchanges of a busy lane',
  async (t) => {
    await emptyCache(at);
    const { jobs, db } = await openProcess(t, 1);
    await jobs.enqueue(requests(10), signal);
    let over = false;
    let exchanges = 0;
    const keepOn = async (): Promise<void> => {
      for (; !over; exchanges++) await jobs.exchange([], { ...CLAIM, limit: 1 }, signal);
    };
    const busy = [keepOn(), keepOn()];
    for (let n = 0; n < 20; n++) t.same(await db.query('select $1::int as n', [n]), [{ n }]);
    over = true;
    await Promise.all(busy);
    t.ok(exchanges > 0);
  },
);

t.test('two processes that have two exchanges under way each run every job once', async (t) => {
  await emptyCache(at);
  const COUNT = 2_000;
  const runs = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  let together = 0;
  const processes = await Promise.all([openProcess(t, 2), openProcess(t, 2)]);
  await processes[0]?.jobs.enqueue(requests(COUNT), signal);
  const lanes = processes.map(({ jobs }) => {
    let underWay = 0;
    const exchange = jobs.exchange.bind(jobs);
    jobs.exchange = async (...given) => {
      if (++underWay === 2) together++;
      try {
        return await exchange(...given);
      } finally {
        underWay--;
      }
    };
    return jobLane({
      handler: {
        lane: 'import',
        run: async ({ dataset }: ClaimedJob) => {
          runs.set(dataset, (runs.get(dataset) ?? 0) + 1);
          if (runs.size === COUNT) all.resolve();
          return DONE;
        },
        report: async () => {},
      },
      ...{ jobs, types: new DataTypes([], []), breakers: undefined, tuning: TUNING, clock: systemClock },
      ...{ log: silentLogger(), metrics: new Metrics(), random: Math.random },
    });
  });
  for (const lane of lanes) await lane.start(signal);
  await Promise.race([all.promise, ...lanes.map(({ broken }) => broken)]);
  for (const lane of lanes) await lane.stop(systemClock.now() + 10_000);
  t.same([...new Set(runs.values())], [1]);
  t.same(await processes[0]?.db.query('select count(*)::int as left from job'), [{ left: 0 }]);
  t.ok(together > 0, `${together} times two at once`);
});
