// BullMQ on a Redis that keeps nothing on disk: with handlers in the main thread that have Piscina do the work, or sandboxed
// in threads of its own.

import { Queue, Worker } from 'bullmq';
import { payloadOf } from './engine-graphile.ts';
import { type JobEngine, Tally, untilEmpty, type Work } from './job-engine.ts';
import { piscinaPool } from './thread-pools.ts';

/** Threads take none of the options that the benchmark's own process was started with. */
const IN_THREADS = { useWorkerThreads: true, workerThreadsOptions: { execArgv: [] } };

export interface BullOptions {
  readonly sandboxed: boolean;
  readonly concurrency: number;
}

export async function bull(redis: { readonly port: number }, name: string, options: BullOptions): Promise<JobEngine> {
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const queue = new Queue<{ event: number }>(name, { connection });
  const threads = piscinaPool(10);
  let work: Work = 'noop';
  let filled: Work = 'noop';
  const defaults = { removeOnComplete: true, removeOnFail: true };
  const left = async (): Promise<number> => {
    const counts = await queue.getJobCounts();
    return Object.values(counts).reduce((sum, one) => sum + one, 0);
  };
  const add = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1_000) {
      const size = Math.min(1_000, count - n);
      await queue.addBulk(
        Array.from({ length: size }, (_, i) => ({ name: filled, data: payloadOf(n + i), opts: defaults })),
      );
    }
  };
  const common = { connection, concurrency: options.concurrency, autorun: false };
  const inMain = (tally: Tally): Worker =>
    new Worker<{ event: number }>(
      name,
      async ({ data }) => tally.ended(data.event, await threads.run(data.event, { name: work })),
      common,
    );
  const inSandbox = (tally: Tally): Worker => {
    const file = new URL('./threads/sandboxed.ts', import.meta.url);
    const worker = new Worker<{ event: number }>(name, file, { ...common, ...IN_THREADS });
    worker.on('completed', (job, answer) => tally.ended(job.data.event, answer));
    return worker;
  };
  return {
    async fill(count) {
      await add(count);
    },
    async drain(count, wanted) {
      work = wanted;
      if (options.sandboxed && work !== filled) {
        // A sandboxed job knows what to do by its name.
        filled = work;
        await queue.obliterate({ force: true });
        await add(count);
      }
      const tally = new Tally(count);
      const worker = options.sandboxed ? inSandbox(tally) : inMain(tally);
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
