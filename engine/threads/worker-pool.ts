// The pool of worker threads that all lanes share: CPU-bound and long work runs here, never on the main thread. The type
// `Tasks` defines the name, input and output of each task; the thread's entry file serves the same map (thread.ts). Each lane
// limits its own number of tasks here (its workerCount).
//
// Cancelling a task first aborts its signal in the thread. If it continues, its thread is terminated: the task rejects with the
// abort's reason, other tasks of the thread with ThreadDied. When a thread dies, only its own tasks fail.

import type { Child } from '../runtime/child.ts';
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
   * Runs a task in a thread. Rejects with the task's failure; with the signal's reason when cancelled; with `ThreadDied` when
   * its thread ended; as `transient` when too many tasks wait or no thread can start.
   */
  run<K extends keyof Tasks & string>(
    name: K,
    input: Tasks[K]['input'],
    options: TaskOptions,
  ): Promise<Tasks[K]['output']> {
    // The thread serves the same map, so the output for this name has this type.
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
