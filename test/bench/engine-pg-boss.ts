// pg-boss by its own fetch() and complete() in two loops of batches, which is much faster than its work().

import { PgBoss } from 'pg-boss';
import type { DurableServer } from './durable-server.ts';
import { payloadOf } from './engine-graphile.ts';
import { type JobEngine, Tally, untilEmpty } from './job-engine.ts';
import { piscinaPool } from './thread-pools.ts';

const LOOPS = 2;

/** Holds `width` jobs in memory. */
export async function pgBoss(server: DurableServer, name: string, width: number): Promise<JobEngine> {
  const batchSize = width / LOOPS;
  const database = await server.database(name);
  const boss = new PgBoss({ ...server.postgres, database, max: 10, supervise: false, schedule: false });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('job');
  const threads = piscinaPool(10);
  return {
    async fill(count) {
      for (let n = 0; n < count; n += 1_000) {
        const size = Math.min(1_000, count - n);
        await boss.insert(
          'job',
          Array.from({ length: size }, (_, i) => ({ data: payloadOf(n + i) })),
        );
      }
    },
    async drain(count) {
      const tally = new Tally(count);
      const loop = async (): Promise<void> => {
        for (;;) {
          const jobs = await boss.fetch<{ event: number }>('job', { batchSize });
          if (jobs.length === 0) return;
          await Promise.all(
            jobs.map(async ({ data }) => tally.ended(data.event, await threads.run(data.event, { name: 'noop' }))),
          );
          await boss.complete(
            'job',
            jobs.map(({ id }) => id),
          );
        }
      };
      await Promise.all(Array.from({ length: LOOPS }, loop));
      await untilEmpty(async () =>
        (await boss.getQueueStats('job')).reduce((sum, { queuedCount }) => sum + queuedCount, 0),
      );
      return await tally.all;
    },
    async [Symbol.asyncDispose]() {
      await threads.destroy();
      await boss.stop({ graceful: false });
    },
  };
}
