// The worker pool as a child of the tree, and its uses: lanes' tasks, and archives of the plugin host and of the handler
// service.

import type { Packages } from '../../actors/handler/packages.ts';
import type { Archives } from '../../actors/plugin-host/archives.ts';
import type { TaskRunner } from '../../actors/tasks/task-map.ts';
import type { ChildSpec } from '../../engine/runtime/child.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { programThread } from '../../engine/runtime/program-files.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { WorkerPool } from '../../engine/threads/worker-pool.ts';
import type { ThreadData, ThreadTasks } from './thread-data.ts';

export interface Threads {
  readonly spec: ChildSpec;
  readonly tasks: TaskRunner;
  /** Unpacking and zipping block their thread, so they never run on the main thread. */
  readonly archives: Archives;
  /** The same for the handler service. */
  readonly packages: Packages;
}

/** More threads than cores hide the waits of streaming tasks. Heap and tasks per thread limit what a crash can take down. */
const POOL = { threads: 4, tasksPerThread: 16, maxOldGenerationSizeMb: 512 };

export function workerThreads(
  workerData: ThreadData,
  parts: { readonly clock: Clock; readonly log: Logger; readonly metrics: Metrics },
): Threads {
  let pool: WorkerPool<ThreadTasks> | undefined;
  const current = (): WorkerPool<ThreadTasks> => {
    if (!pool) throw aborted('the worker threads have not been started');
    return pool;
  };
  return {
    spec: {
      name: 'workerPool',
      create: () => {
        const filename = programThread('bin/compose/lane-thread.ts');
        pool = new WorkerPool<ThreadTasks>({ name: 'workerPool', ...POOL, ...parts, filename, workerData });
        return pool;
      },
    },
    tasks: { run: (name, input, options) => current().run(name, input, options) },
    archives: {
      unpack: (zip, dir, limits, signal) => current().run('unpack', { zip, dir, limits }, { signal }),
      zip: (target, files, { level }, signal) => current().run('zip', { target, files, level }, { signal }),
    },
    packages: {
      unpack: (order, signal) => current().run('unpack-package', order, { signal }),
      pack: (order, signal) => current().run('pack-package', order, { signal }),
    },
  };
}
