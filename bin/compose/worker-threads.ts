// The worker pool as a child of the tree, and its uses: lanes' tasks, and archives of the plugin host and of the handler
// service.

import type { Archives, Unpacked, UnpackOrder, ZipOptions } from '../../actors/tasks/archives.ts';
import type { LaneTasks, TaskRunner } from '../../actors/tasks/task-map.ts';
import type { PluginHttpOptions } from '../../engine/adapters/plugins/plugin-http.ts';
import type { RemoteHttpOptions } from '../../engine/adapters/remote/remote-http.ts';
import type { PackedFile, WrittenArchive } from '../../engine/archive/archive-entry.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { programThread } from '../../engine/runtime/program-files.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { WorkerPool } from '../../engine/threads/worker-pool.ts';
import type { StoreData } from './store-reader.ts';

interface Threads {
  readonly spec: ChildSpec;
  readonly tasks: TaskRunner;
  /** Unpacking and zipping block their thread, so they never run on the main thread. */
  readonly archives: Archives;
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
      unpack: (order, signal) => current().run('unpack', order, { signal }),
      zip: (target, files, options, signal) => current().run('zip', { target, files, ...options }, { signal }),
      tarGz: (target, files, signal) => current().run('tar-gz', { target, files }, { signal }),
      sha256: (file, signal) => current().run('sha256', { file }, { signal }),
    },
  };
}

// The data that cross the thread boundary: how a thread opens its resources, and every task that it knows.

export interface ThreadData {
  /** Undefined where no task reads objects. */
  readonly store: StoreData | undefined;
  /** Undefined where no task downloads from URLs. */
  readonly remote?: RemoteHttpOptions | undefined;
  readonly plugins: readonly (PluginHttpOptions & { readonly key: string })[];
}

/** Work on archives, which blocks its thread while it reads and writes. */
type ArchiveTasks = {
  readonly unpack: { readonly input: UnpackOrder; readonly output: Unpacked };
  readonly zip: {
    readonly input: ZipOptions & { readonly target: string; readonly files: readonly PackedFile[] };
    readonly output: WrittenArchive;
  };
  readonly 'tar-gz': {
    readonly input: { readonly target: string; readonly files: readonly PackedFile[] };
    readonly output: WrittenArchive;
  };
  readonly sha256: { readonly input: { readonly file: string }; readonly output: string };
};

export type ThreadTasks = LaneTasks & ArchiveTasks;
