// The pool of worker threads that all lanes share: CPU-bound and long work runs here, never on the main thread. The type
// `Tasks` defines the name, input and output of each task; the thread's entry file serves the same map (thread.ts). Each lane
// limits its own number of tasks here (its workerCount).
//   running    run() gives a task to a thread
//   draining   the same, because draining lanes still need it
//   stopping   refuses tasks; at `hurried` the tasks are cancelled, at `ended` the threads are terminated
//
// Cancelling a task first aborts its signal in the thread. If the task continues, its thread is terminated. The task then
// rejects with the abort's reason, and other tasks of the thread with ThreadDied. When a thread dies, only its own tasks fail.

import { Actor, type ActorOptions } from '../runtime/actor.ts';
import { aborted, transient } from '../runtime/failure.ts';
import { settledUnless } from '../runtime/wait.ts';
import { ThreadGroup, type ThreadOptions } from './thread-group.ts';
import type { TaskMap } from './thread-messages.ts';

export interface WorkerPoolOptions extends ActorOptions, ThreadOptions {
  /** Threads for tasks that run alone; default 1. */
  readonly soloThreads?: number;
}

interface TaskOptions {
  /** True: no other task runs in the same thread at the same time. */
  readonly alone?: boolean;
  readonly signal: AbortSignal;
}

export class WorkerPool<Tasks extends TaskMap<Tasks>> extends Actor {
  readonly #options: WorkerPoolOptions;
  #groups: { readonly shared: ThreadGroup; readonly solo: ThreadGroup } | undefined;

  constructor(options: WorkerPoolOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * Runs a task in a thread. Rejects with
   * - the task's failure
   * - the signal's reason, when cancelled
   * - `ThreadDied`, when its thread ended
   * - a `transient` failure, when too many tasks wait or no thread can start
   * - an `aborted` failure, once the pool is stopping
   */
  async run<K extends keyof Tasks & string>(
    name: K,
    input: Tasks[K]['input'],
    { alone = false, signal }: TaskOptions,
  ): Promise<Tasks[K]['output']> {
    if (this.stopping.aborted) throw aborted('the worker pool is shut down');
    if (!this.#groups) throw transient('the worker pool has not started', { unreachable: true });
    signal.throwIfAborted();
    // The thread serves the same map, so the output for this name has this type.
    return (await this.#groups[alone ? 'solo' : 'shared'].run(name, input, signal)) as Tasks[K]['output'];
  }

  protected override async open(): Promise<void> {
    const options = { ...this.#options, log: this.log };
    const solo = { ...options, threads: options.soloThreads ?? 1, tasksPerThread: 1 };
    this.#groups = { shared: new ThreadGroup('shared', options), solo: new ThreadGroup('solo', solo) };
  }

  protected override async work(): Promise<void> {
    const groups = Object.values(this.#groups ?? {});
    const observe = (): void => {
      for (const group of groups) group.observe();
    };
    const answered = (): Promise<unknown> => Promise.all(groups.map((group) => group.answered()));
    using _observed = { [Symbol.dispose]: this.#options.metrics.onScrape(observe) };
    await settledUnless(new Promise(() => {}), this.stopping);
    await settledUnless(answered(), this.hurried);
    for (const group of groups) group.cancelAll(this.hurried.reason);
    await settledUnless(answered(), this.ended);
    await Promise.all(groups.map((group) => group.close(this.stopping.reason)));
    observe();
  }
}
