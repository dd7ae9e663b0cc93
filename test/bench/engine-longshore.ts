// The product as an engine of durable jobs: its lane for imports over its job table and leases, tasks in its worker pool,
// every job's end in its log. The bounds are the largest that the configuration takes: 120 jobs in memory.

import { jobLane } from '../../actors/jobs/job-lane.ts';
import { PostgresJobs } from '../../engine/adapters/jobs/jobs-postgres.ts';
import { cacheMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { DataTypes } from '../../engine/model/data-types.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { createLogger, silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { DurableServer } from './durable-server.ts';
import { type JobEngine, Tally, untilEmpty } from './job-engine.ts';
import { USERS } from './subject.ts';
import { never, productPool } from './thread-pools.ts';

/** Jobs that wait in memory, the most that the configuration takes; with those that run they are the width of P13. */
const QUEUE_SIZE = 100;
/** Those of P1. One owner alone gets all workers but one, and nothing in memory: 19 jobs, and not the width of P13. */
const [FIRST_OWNER = ''] = USERS;
const ownerOf = (n: number): UserId => USERS[n % USERS.length] as UserId;
const TUNING = { workerCount: 20, retry: { attempts: 3, baseMs: 1_000, maxMs: 60_000 } };

export async function longshore(server: DurableServer, name: string, log: string): Promise<JobEngine> {
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
      ...{ jobs, types: TYPES, breakers: undefined, tuning: { ...TUNING, inMemoryQueueSize: QUEUE_SIZE } },
      ...{ clock: systemClock, log: logger, metrics: new Metrics(), random: Math.random },
    });
  const request = (n: number) => ({
    lane: 'import' as const,
    dataset: `bench${n}` as DatasetId,
    owner: ownerOf(n),
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
    await db.query(ADD_DATASETS, [count, FIRST_OWNER, USERS.length]);
    await jobs.enqueue(
      Array.from({ length: count }, (_, n) => request(n)),
      never,
    );
  };
  return {
    fill,
    async drain(count) {
      const tally = new Tally(count);
      const worker = lane(async (job, signal) => {
        tally.ended(job.eventId, await pool.run('noop', job.eventId, { signal }));
      });
      return running(worker, async () => {
        const took = await tally.all;
        await untilEmpty(left);
        return took;
      });
    },
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
    },
  };
}

const TYPES = new DataTypes(
  [
    {
      ...{ name: 'type0', version: '1.0', category: 'Type', plugin: 'plugin0', typeChangesEnabled: false },
      ...{ maxFileSize: 1, allowedFileExtensions: [], usesDataProperties: true, projectIds: [] },
    },
  ],
  [],
);

const ADD_DATASETS = `
insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
  upload_status, import_status)
select 'bench' || n, $2::numeric + n % $3::integer, 'bench' || n, 0, 'live', 'type0', '1.0', '{}', 'private', 'name', 'success', 'queued'
from generate_series(0, $1::integer - 1) n on conflict do nothing`;
