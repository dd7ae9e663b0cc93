// BullMQ on a Redis that writes every command to disk, with handlers that have Piscina do the work.

import { Queue, Worker } from 'bullmq';
import { payloadOf } from './engine-graphile.ts';
import { type JobEngine, Tally, untilEmpty } from './job-engine.ts';
import { piscinaPool } from './thread-pools.ts';

/** Holds `width` jobs in memory. */
export async function bull(redis: { readonly port: number }, name: string, width: number): Promise<JobEngine> {
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const queue = new Queue<{ event: number }>(name, { connection });
  const threads = piscinaPool(10);
  const opts = { removeOnComplete: true, removeOnFail: true };
  const left = async (): Promise<number> =>
    Object.values(await queue.getJobCounts()).reduce((sum, one) => sum + one, 0);
  return {
    async fill(count) {
      for (let n = 0; n < count; n += 1_000) {
        const size = Math.min(1_000, count - n);
        await queue.addBulk(Array.from({ length: size }, (_, i) => ({ name: 'job', data: payloadOf(n + i), opts })));
      }
    },
    async drain(count) {
      const tally = new Tally(count);
      const worker = new Worker<{ event: number }>(
        name,
        async ({ data }) => tally.ended(data.event, await threads.run(data.event, { name: 'noop' })),
        { connection, concurrency: width, autorun: false },
      );
      worker.on('failed', (_job, error) => tally.failed(error));
      void worker.run();
      try {
        const took = await tally.all;
        await untilEmpty(left);
        return took;
      } finally {
        await worker.close();
      }
    },
    async [Symbol.asyncDispose]() {
      await queue.close();
      await threads.destroy();
    },
  };
}
