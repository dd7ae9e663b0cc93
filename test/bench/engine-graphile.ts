// graphile-worker with everything in batches: its documentation's way to the highest throughput.

import { Logger, makeWorkerUtils, type Runner, run, type Task } from 'graphile-worker';
import pg from 'pg';
import type { DurableServer } from './durable-server.ts';
import { type JobEngine, Tally, untilEmpty } from './job-engine.ts';
import { piscinaPool } from './thread-pools.ts';

const silent = new Logger(() => () => {});
const preset = (localQueue: number) => ({
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: localQueue, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    pollInterval: 2_000,
  },
});

/** Holds `width` jobs in memory, 24 of which run. */
export async function graphile(server: DurableServer, name: string, width: number): Promise<JobEngine> {
  const database = await server.database(name);
  const { user, password, host, port } = server.postgres;
  const connectionString = `postgres://${user}:${password}@${host}:${port}/${database}`;
  const pgPool = new pg.Pool({ connectionString, max: 27 });
  for (const told of ['error', 'connect'] as const) pgPool.on(told, () => {});
  const utils = await makeWorkerUtils({ pgPool, logger: silent });
  await utils.migrate();
  const threads = piscinaPool(10);
  const working = (task: Task): Promise<Runner> =>
    run({ pgPool, preset: preset(width - 24), logger: silent, noHandleSignals: true, taskList: { job: task } });
  const left = async (): Promise<number> =>
    Number((await pgPool.query('select count(*) as n from graphile_worker._private_jobs')).rows[0].n);
  return {
    async fill(count) {
      for (let n = 0; n < count; n += 1_000) {
        const size = Math.min(1_000, count - n);
        await utils.addJobs(Array.from({ length: size }, (_, i) => ({ identifier: 'job', payload: payloadOf(n + i) })));
      }
    },
    async drain(count) {
      const tally = new Tally(count);
      const runner = await working(async (payload) => {
        const { event } = payload as { event: number };
        tally.ended(event, await threads.run(event, { name: 'noop' }));
      });
      try {
        const took = await tally.all;
        await untilEmpty(left);
        return took;
      } finally {
        await runner.stop();
      }
    },
    async [Symbol.asyncDispose]() {
      await threads.destroy();
      await utils.release();
      await pgPool.end();
    },
  };
}

/** About 140 bytes as JSON. */
export const payloadOf = (n: number) => ({
  ...{ dataset: `bench${n}`, owner: 4242, event: n, source: 'object-store', note: 'x'.repeat(60) },
});
