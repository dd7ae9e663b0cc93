// The product as an engine of durable jobs: its lane for imports over its job table and leases, tasks in its worker pool,
// every job's end in its log. The bounds are the largest that the configuration takes: 120 jobs in memory.

import { jobLane } from '../../actors/jobs/job-lane.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { cacheMigrations } from '../../engine/adapters/migrations/cache.ts';
import { migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { createLogger, silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { DurableServer } from './durable-server.ts';
import { type JobEngine, pickedUp, Tally, untilEmpty, type Work } from './job-engine.ts';
import { never, productPool } from './thread-pools.ts';

export interface LongshoreOptions {
  /** Datasets are of as many types, each of a plugin of its own. */
  readonly plugins: number;
  /** File of the log. */
  readonly log: string;
  /** Jobs in memory that wait; default the most that the configuration takes. */
  readonly queueSize?: number;
}

export interface LongshoreEngine extends JobEngine {
  /**
   * Has a thread die under a busy lane: milliseconds until the lane ends jobs at 90 % of the rate that it had before. Every
   * job is done in the end, those of the dead thread too.
   */
  afterDeath(): Promise<number>;
}

/** Jobs, and how many of them end before the thread dies. */
const DEATH = { jobs: 3_000, after: 1_000 };

const QUEUE_SIZE = 100;
const TUNING = { workerCount: 20, retry: { attempts: 3, baseMs: 1_000, maxMs: 60_000 } };

export async function longshore(
  server: DurableServer,
  name: string,
  { plugins, log, queueSize = QUEUE_SIZE }: LongshoreOptions,
): Promise<LongshoreEngine> {
  const pool = await productPool(16);
  const database = await server.database(name);
  const db = new Postgres(
    { ...server.postgres, database, schema: 'cache', poolSize: 4, idleTimeoutMs: 60_000, applicationName: 'bench' },
    silentLogger(),
  );
  await migrate(db, 'cache', await cacheMigrations(), never);
  const instance = await PostgresInstance.open(db, { onGap: () => {} }, systemClock, silentLogger(), never);
  const jobs = new PostgresJobs(db, instance, systemClock);
  const logger = createLogger({ level: 'info', to: { file: log } });

  const lane = (run: (job: ClaimedJob, signal: AbortSignal) => Promise<void>) =>
    jobLane({
      handler: {
        lane: 'import',
        async run(job, signal) {
          await run(job, signal);
          return { kind: 'done' };
        },
        report: async () => {},
      },
      ...{ jobs, types: typesOf(plugins), breakers: undefined, tuning: { ...TUNING, inMemoryQueueSize: queueSize } },
      ...{ clock: systemClock, log: logger, metrics: new Metrics(), random: Math.random },
    });
  const request = (n: number) => ({
    lane: 'import' as const,
    dataset: `bench${n}` as DatasetId,
    owner: '4242' as UserId,
    eventId: n,
    source: 'object-store' as const,
  });
  const running = async <T>(one: ReturnType<typeof lane>, until: () => Promise<T>): Promise<T> => {
    await one.start(never);
    try {
      return await Promise.race([until(), one.broken]);
    } finally {
      await one.stop(systemClock.now() + 10_000);
    }
  };
  const left = async (): Promise<number> =>
    Number((await db.query<{ n: number }>('select count(*) as n from job'))[0]?.n);
  const fill = async (count: number): Promise<void> => {
    await db.query(ADD_DATASETS, [count, plugins]);
    await jobs.enqueue(
      Array.from({ length: count }, (_, n) => request(n)),
      never,
    );
  };
  return {
    fill,
    async drain(count, work: Work) {
      const tally = new Tally(count);
      const worker = lane(async (job, signal) => {
        tally.ended(job.eventId, await pool.run(work, job.eventId, { signal }));
      });
      return running(worker, async () => {
        const took = await tally.all;
        await untilEmpty(left);
        return took;
      });
    },
    async pickups(count) {
      let started: (n: number) => void = () => {};
      const worker = lane(async (job) => started(job.eventId));
      return running(worker, () =>
        pickedUp(
          count,
          (n) => jobs.enqueue([request(n)], never),
          (hear) => {
            started = hear;
          },
        ),
      );
    },
    async afterDeath() {
      await fill(DEATH.jobs);
      const ends: number[] = [];
      const tally = new Tally(DEATH.jobs);
      let diedAt: number | undefined;
      const worker = lane(async (job, signal) => {
        const { alone } = job;
        if (ends.length >= DEATH.after && diedAt === undefined) {
          diedAt = performance.now();
          await pool.run('die', 0, { signal });
        }
        tally.ended(job.eventId, await pool.run('digest', job.eventId, { signal, alone }));
        ends.push(performance.now());
      });
      return running(worker, async () => {
        await tally.all;
        await untilEmpty(left);
        return msUntilBack(ends, diedAt ?? Number.NaN);
      });
    },
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
    },
  };
}

/** Until the first window of time, after the death, that has 90 % of the ends that a window had on average before it. */
function msUntilBack(ends: readonly number[], diedAt: number): number {
  const before = ends.filter((at) => at < diedAt);
  const [first = 0] = before;
  const perWindow = (before.length * WINDOW_MS) / (diedAt - first);
  for (let from = diedAt; from < (ends.at(-1) ?? 0); from++) {
    const count = ends.filter((at) => at >= from && at < from + WINDOW_MS).length;
    if (count >= 0.9 * perWindow) return from - diedAt;
  }
  throw new Error('the lane did not come back');
}

const WINDOW_MS = 100;

const typesOf = (plugins: number): DataTypes =>
  new DataTypes(
    Array.from({ length: plugins }, (_, n) => ({
      ...{ name: `type${n}`, version: '1.0', category: 'Type', plugin: `plugin${n}`, typeChangesEnabled: false },
      ...{ maxFileSize: 1, allowedFileExtensions: [], usesDataProperties: true, projectIds: [] },
    })),
    [],
  );

const ADD_DATASETS = `
insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
  upload_status, import_status)
select 'bench' || n, 4242, 'bench' || n, 0, 'live', 'type' || n % $2::integer, '1.0', '{}', 'private', 'name', 'success', 'queued'
from generate_series(0, $1::integer - 1) n on conflict do nothing`;
