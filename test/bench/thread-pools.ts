// Two threads as the product has them, and as plain Piscina has them.

import { Piscina } from 'piscina';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { WorkerPool } from '../../engine/threads/worker-pool.ts';
import type { BenchTasks } from './threads/lane-thread.ts';

export const THREADS = 2;
export const never = new AbortController().signal;

export type ProductPool = WorkerPool<BenchTasks> & AsyncDisposable;

/** Both threads are up when it resolves. */
export async function productPool(tasksPerThread: number): Promise<ProductPool> {
  const pool = new WorkerPool<BenchTasks>({
    name: 'workerPool',
    clock: systemClock,
    log: silentLogger(),
    metrics: new Metrics(),
    filename: new URL('./threads/lane-thread.ts', import.meta.url),
    workerData: null,
    threads: THREADS,
    tasksPerThread,
  });
  await pool.start(never);
  await Promise.all(Array.from({ length: THREADS }, (_, n) => pool.run('noop', n, { signal: never })));
  return Object.assign(pool, {
    async [Symbol.asyncDispose]() {
      pool.kill();
      await pool.stop(0);
    },
  });
}

/** `concurrentTasksPerWorker` is Piscina's own default when undefined. */
export function piscinaPool(concurrentTasksPerWorker?: number): Piscina {
  return new Piscina({
    filename: new URL('./threads/piscina-thread.ts', import.meta.url).href,
    minThreads: THREADS,
    maxThreads: THREADS,
    ...(concurrentTasksPerWorker === undefined ? {} : { concurrentTasksPerWorker }),
  });
}
