// The archive work of the product as its services have it done: in the threads of its pool.

import type { Archives } from '../../actors/tasks/archives.ts';
import { workerThreads } from '../../bin/compose/worker-threads.ts';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';

export interface ArchiveThreads extends AsyncDisposable {
  readonly archives: Archives;
}

/** Those of the handler service at their default, which bind. */
export const LIMITS = { maxTotalBytes: 10 * 2 ** 30, maxFileBytes: 10 * 2 ** 30, maxEntries: MAX_ENTRIES };

export async function archiveThreads(): Promise<ArchiveThreads> {
  const parts = { clock: systemClock, log: silentLogger(), metrics: new Metrics() };
  const { spec, archives } = workerThreads({ store: undefined, plugins: [] }, parts);
  const pool = spec.create();
  await pool.start(new AbortController().signal);
  return {
    archives,
    async [Symbol.asyncDispose]() {
      await pool.stop(systemClock.now() + 5_000);
    },
  };
}
