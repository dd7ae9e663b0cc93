// The threads of one kind (shared, or for tasks that run alone) with their tasks. Piscina queues the tasks, starts threads, and
// ends idle threads. This class adds:
//   cancel     Piscina's own `signal` terminates the thread at once and keeps other tasks out of it. Therefore the pool and the
//              thread share two words of memory per task (task-slots.ts). A waiting task is rejected at once and never
//              begins. A running task gets an abort; if it has not ended after the grace period, its thread is terminated.
//              If an operator cancels a job `hard`, there is no grace period.
//   blame      When a thread dies, the tasks that it had begun fail with ThreadDied. The others go to another thread.
//   placement  Until all threads have been started, each task gets a thread without other tasks.

import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { Cancelled, defect, Failure, messageOf, transient } from '../runtime/failure.ts';
import type { Logger } from '../runtime/log.ts';
import type { Counter, Metrics } from '../runtime/metrics.ts';
import type { Clock } from '../runtime/time.ts';
import { TaskSlots, WAITING } from './task-slots.ts';
import { fromWire, type TaskAnswer, type TaskCall, type ThreadData } from './thread-messages.ts';

/** The thread of a task ended. `crashed`: by itself, so any of its tasks may be to blame; otherwise the pool terminated it. */
export class ThreadDied extends Failure {
  readonly crashed: boolean;

  constructor(message: string, crashed: boolean, cause?: unknown) {
    super('aborted', message, { cause });
    this.name = 'ThreadDied';
    this.crashed = crashed;
  }
}

export interface ThreadOptions {
  /** Entry file of a thread. Its default export is the result of serveTasks (thread.ts). */
  readonly filename: URL;
  /** Plain data with which a thread opens its resources. */
  readonly workerData: unknown;
  readonly threads: number;
  /** Tasks that one thread runs at a time. */
  readonly tasksPerThread: number;
  /** Most tasks of each kind that may wait for a thread; default {@link QUEUE_SIZE}. */
  readonly queueSize?: number;
  /** Time from a task's cancellation to the termination of its thread; default 5 s. */
  readonly cancelGraceMs?: number;
  /** Time after which an idle thread ends; default 60 s. */
  readonly idleMs?: number;
  /** Limit of the JavaScript heap of each thread. A thread that needs more dies. */
  readonly maxOldGenerationSizeMb?: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** In its slot of the memory that is shared with the threads. */
class ThreadTask {
  readonly call: TaskCall;
  readonly answer = Promise.withResolvers<unknown>();
  /** The reason of its cancellation. The task rejects with it unless it succeeds all the same. */
  cancelled: { readonly reason: unknown } | undefined;
  /** Called when the task ends, to remove listeners and timers. */
  readonly release: (() => void)[] = [];
  readonly #slots: TaskSlots;

  constructor(call: TaskCall, slots: TaskSlots) {
    this.call = call;
    this.#slots = slots;
  }

  /** WAITING, CANCELLED, or the id of the thread that began the task. */
  get owner(): number {
    return this.#slots.ownerOf(this.call.slot);
  }

  /** Cancels the task if no thread has begun it. Returns true if so: then no thread will begin it. */
  takeBack(): boolean {
    return this.#slots.takeBack(this.call.slot);
  }

  abort(): void {
    this.#slots.abort(this.call.slot);
  }
}

const QUEUE_SIZE = 1_000;

export class ThreadGroup {
  readonly #kind: 'shared' | 'solo';
  readonly #options: ThreadOptions;
  readonly #file: string;
  readonly #piscina: Piscina<TaskCall, TaskAnswer | undefined>;
  readonly #slots: TaskSlots;
  readonly #deaths: Counter<'kind'>;
  readonly #tasks = new Set<ThreadTask>();
  /** Ids of threads that the group has terminated. */
  readonly #terminated = new Set<number>();
  /** The error of the last thread that died after it had begun a task. */
  #lastDeath: Error | undefined;

  constructor(kind: 'shared' | 'solo', options: ThreadOptions) {
    this.#kind = kind;
    this.#options = options;
    const { protocol, href } = options.filename;
    // Within the binary it is no file.
    this.#file = protocol === 'file:' ? fileURLToPath(href) : href;
    const { threads, tasksPerThread, idleMs = 60_000, workerData, maxOldGenerationSizeMb, metrics } = options;
    const { queueSize = QUEUE_SIZE } = options;
    // One more for the task of #replaceLast.
    this.#slots = new TaskSlots(queueSize + threads * tasksPerThread + 1);
    const data: ThreadData = { words: this.#slots.words, own: workerData };
    this.#deaths = metrics.counter('worker_thread_deaths_total', 'Threads that died by themselves.', ['kind']);
    this.#piscina = new Piscina({
      workerData: data,
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      idleTimeout: idleMs,
      stricterFIFO: true,
      // With Atomics.wait, an idle thread could not serve its own sockets.
      atomics: 'disabled',
      recordTiming: false,
      loadBalancer: (_task, workers) => {
        const most = this.#piscina.threads.length < threads ? 1 : tasksPerThread;
        let found: (typeof workers)[number] | null = null;
        for (const worker of workers) {
          if (worker.currentUsage >= most || this.#terminated.has(worker.id)) continue;
          // Among equals the last one, because threads that are still starting come first.
          if (!found || worker.currentUsage <= found.currentUsage) found = worker;
        }
        return found;
      },
      ...(maxOldGenerationSizeMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb } }),
    });
    // Emitted when a thread dies without a task, also while it starts. The waiting tasks may have depended on that thread.
    this.#piscina.on('error', (error) => {
      this.#logDeath(error);
      for (const task of this.#tasks) if (task.takeBack()) this.#reject(task, this.#unstartable(error));
    });
    this.#piscina.on('workerDestroy', () => queueMicrotask(() => this.#replaceLast()));
  }

  /** Rejects with a `transient` failure when the queue is full. `signal` must not be aborted yet. */
  run(name: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    const { queueSize = QUEUE_SIZE } = this.#options;
    const slot = this.#piscina.queueSize < queueSize ? this.#slots.take() : undefined;
    if (slot === undefined) {
      const text = `the ${this.#kind} worker threads are busy and ${queueSize} tasks wait, the most that may`;
      return Promise.reject(transient(text));
    }
    const task = new ThreadTask({ name, input, slot }, this.#slots);
    const cancel = (): void => this.#cancel(task, signal.reason);
    signal.addEventListener('abort', cancel, { once: true });
    task.release.push(() => signal.removeEventListener('abort', cancel));
    this.#tasks.add(task);
    this.#submit(task);
    return task.answer.promise;
  }

  /** Resolves when all current tasks have settled. */
  async answered(): Promise<void> {
    await Promise.allSettled([...this.#tasks].map((task) => task.answer.promise));
  }

  cancelAll(reason: unknown): void {
    for (const task of this.#tasks) this.#cancel(task, reason);
  }

  /** Terminates all threads. Their tasks reject with `reason`. */
  async close(reason: unknown): Promise<void> {
    this.cancelAll(reason);
    for (const { threadId } of this.#piscina.threads) this.#terminated.add(threadId);
    await this.#piscina.destroy();
  }

  observe(): void {
    const { metrics } = this.#options;
    const kind = this.#kind;
    const waiting = this.#waiting;
    metrics.gauge('worker_threads', 'Threads that are up.', ['kind']).set({ kind }, this.#piscina.threads.length);
    const running = metrics.gauge('worker_tasks_running', 'Tasks in threads.', ['kind']);
    running.set({ kind }, this.#tasks.size - waiting);
    metrics.gauge('worker_tasks_waiting', 'Tasks waiting for a place.', ['kind']).set({ kind }, waiting);
  }

  /** Tasks that no thread has begun. */
  get #waiting(): number {
    return [...this.#tasks].filter((task) => task.owner === WAITING).length;
  }

  #submit(task: ThreadTask): void {
    const over = (): void => {
      // A task that was not begun may be submitted again.
      if (!this.#tasks.has(task)) this.#slots.giveBack(task.call.slot);
    };
    // We pass the file here and not to the constructor. If it cannot be loaded, the task fails, not the thread.
    this.#piscina.run(task.call, { filename: this.#file }).then(
      (answer) => {
        this.#answered(task, answer);
        over();
      },
      (error: unknown) => {
        this.#failed(task, error);
        over();
      },
    );
  }

  #cancel(task: ThreadTask, reason: unknown): void {
    if (task.cancelled) return;
    task.cancelled = { reason };
    if (task.takeBack()) this.#reject(task, reason);
    else {
      task.abort();
      const { clock, cancelGraceMs = 5000 } = this.#options;
      const graceMs = reason instanceof Cancelled && reason.hard ? 0 : cancelGraceMs;
      task.release.push(clock.after(graceMs, () => this.#terminate(task.owner)));
    }
  }

  #terminate(id: number): void {
    const thread = this.#piscina.threads.find(({ threadId }) => threadId === id);
    if (!thread) return;
    this.#terminated.add(id);
    void thread.terminate();
  }

  #answered(task: ThreadTask, answer: TaskAnswer | undefined): void {
    if (!this.#tasks.has(task)) return;
    if (answer?.kind === 'done') {
      this.#end(task);
      task.answer.resolve(answer.output);
    } else if (answer?.kind === 'unready') {
      this.#reject(task, this.#unstartable(fromWire(answer.failure)));
    } else if (answer?.kind === 'failed') {
      this.#reject(task, fromWire(answer.failure));
    } else {
      // If a thread dies because it threw null, Piscina treats that as an answer.
      this.#failed(task, new Error('it threw null'));
    }
  }

  /** Handles Piscina's own failures: the call did not reach a thread, or the thread ended. */
  #failed(task: ThreadTask, error: unknown): void {
    if (!this.#tasks.has(task)) return;
    if (task.owner !== WAITING) this.#threadDied(task.owner, error);
    // Piscina rejects all tasks of a thread with the same error, those that had begun first.
    else if (error === this.#lastDeath) this.#submit(task);
    else if (error instanceof DOMException && error.name === 'DataCloneError')
      this.#reject(task, defect(`input of task '${task.call.name}' cannot cross to a thread: ${messageOf(error)}`));
    else this.#reject(task, this.#unstartable(error));
  }

  #threadDied(id: number, error: unknown): void {
    this.#lastDeath = error instanceof Error ? error : undefined;
    const crashed = !this.#terminated.delete(id);
    const message = crashed
      ? `the worker thread died: ${messageOf(error)}`
      : 'the worker thread was ended because of another task';
    for (const task of this.#tasks) if (task.owner === id) this.#reject(task, new ThreadDied(message, crashed, error));
    if (crashed) this.#logDeath(error);
  }

  #logDeath(error: unknown): void {
    this.#deaths.inc({ kind: this.#kind });
    this.#options.log.error({ err: messageOf(error) }, 'a worker thread died');
  }

  /** The failure of a task that could not begin. */
  #unstartable(error: unknown): Failure {
    this.#options.log.error({ err: messageOf(error) }, 'a worker thread could not start');
    return transient(`a worker thread could not start: ${messageOf(error)}`, { cause: error, unreachable: true });
  }

  #reject(task: ThreadTask, error: unknown): void {
    this.#end(task);
    task.answer.reject(task.cancelled ? task.cancelled.reason : error);
  }

  #end(task: ThreadTask): void {
    this.#tasks.delete(task);
    for (const release of task.release) release();
  }

  /** When its last thread dies, Piscina starts another only for a new task. We submit one that is already cancelled. */
  #replaceLast(): void {
    if (this.#piscina.threads.length > 0 || this.#waiting === 0) return;
    const slot = this.#slots.take();
    if (slot === undefined) return;
    const nothing = new ThreadTask({ name: 'nothing', input: undefined, slot }, this.#slots);
    nothing.takeBack();
    this.#submit(nothing);
  }
}
