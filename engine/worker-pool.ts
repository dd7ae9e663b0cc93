// The one pool of worker threads that all lanes share: CPU-bound and long work runs here, never on the main thread.
// What a task is called, what goes in and what comes out is said once, in the type `Tasks`; the thread's entry file
// serves the same map (thread.ts). How many of its tasks a lane has here is the lane's own affair (its workerCount).
//
// A cancelled task is first asked (its signal aborts in the thread); if it goes on, its thread is ended: the task is
// answered with the abort's reason, its neighbours with ThreadDied. A thread that dies takes nothing with it but the
// tasks it had.

import type { Child } from './child.ts';
import type { TaskMap } from './thread-messages.ts';
import { type TaskOptions, ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

export class WorkerPool<Tasks extends TaskMap<Tasks>> implements Child {
  readonly name: string;
  readonly broken: Promise<never>;
  readonly #threads: ThreadPool;

  constructor(options: ThreadPoolOptions) {
    this.name = options.name;
    this.#threads = new ThreadPool(options);
    this.broken = this.#threads.broken;
  }

  /**
   * Runs a task in a thread. Rejects with the task's failure; with the signal's reason when cancelled; with `ThreadDied`
   * when its thread ended; `transient` when too many tasks wait or no thread can start.
   */
  run<K extends keyof Tasks & string>(
    name: K,
    input: Tasks[K]['input'],
    options: TaskOptions,
  ): Promise<Tasks[K]['output']> {
    // The thread serves the same map, so what comes out for this name is of this type.
    return this.#threads.submit(name, input, options) as Promise<Tasks[K]['output']>;
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#threads.start(signal);
  }

  quiet(): void {
    this.#threads.quiet();
  }

  stop(deadline: number): Promise<void> {
    return this.#threads.stop(deadline);
  }

  kill(): void {
    this.#threads.kill();
  }
}
