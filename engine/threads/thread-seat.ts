// One thread as the pool sees it.
//   opening   the thread starts and opens its resources; takes no tasks
//   open      takes tasks
//   leaving   asked to end (idle), or ended by force because a task did not heed its abort; takes none any more
//   gone      every task it had has been answered
// The pool library owns the thread: a session is one long task of it, which rejects when the thread dies and whose
// abort ends the thread by force.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { defect, Failure, messageOf, transient } from '../runtime/failure.ts';
import type { Clock } from '../runtime/time.ts';
import { settledWithin } from '../runtime/wait.ts';
import { BusyPoll } from './busy-poll.ts';
import { Outbox } from './outbox.ts';
import { Slots } from './slots.ts';
import {
  type FromThread,
  fromWire,
  partsToThread,
  type SessionStart,
  type TasksDone,
  type ToThread,
  toWire,
} from './thread-messages.ts';
import type { ThreadTask } from './thread-task.ts';

/** The thread ended under its tasks. `crashed`: by itself, so any of them may be to blame; else the pool ended it. */
export class ThreadDied extends Failure {
  readonly crashed: boolean;

  constructor(message: string, crashed: boolean, cause?: unknown) {
    super('aborted', message, { cause });
    this.name = 'ThreadDied';
    this.crashed = crashed;
  }
}

export interface SeatOptions {
  readonly piscina: Piscina<SessionStart, void>;
  readonly workerData: unknown;
  readonly openMs: number;
  /** From a task's cancellation to the end of its thread. */
  readonly cancelGraceMs: number;
  readonly clock: Clock;
  /** A task was answered: there is room. */
  readonly freed: () => void;
  /** It is gone; `crash` is what the thread died of, undefined when it was asked to go. */
  readonly gone: (seat: ThreadSeat, crash: unknown) => void;
}

/** How long the remains of a thread may take to end once it was told. */
const TERMINATE_MS = 5000;

export class ThreadSeat {
  readonly #options: SeatOptions;
  /** A task goes by the number of its slot, which is free once the thread has answered: it never stands for two of them. */
  readonly #tasks = new Slots<ThreadTask>();
  /** By slot. */
  readonly #graces = new Map<number, () => void>();
  readonly #port: MessagePort;
  readonly #outbox: Outbox<ToThread>;
  readonly #killer = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  #state: 'opening' | 'open' | 'leaving' | 'gone' = 'opening';
  #hadTasks = false;
  #quickAt: string | undefined;
  idleSince: number;

  constructor(options: SeatOptions) {
    this.#options = options;
    this.idleSince = options.clock.now();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const poll = new BusyPoll();
    this.#outbox = new Outbox(port1, {
      parts: partsToThread,
      count: (message) => (message.kind === 'run' ? message.ids.length : 1),
      refused: (message, error) => this.#cannotCross(message, error),
      // As Nagle's algorithm does it, for the microseconds that quick tasks last.
      holds: (parts) => this.#quickAt !== undefined && this.#tasks.size > parts && poll.isBusy,
      sent: (parts) => poll.sent(parts),
    });
    port1.on('message', (batch: readonly FromThread[]) => {
      poll.received();
      for (const message of batch) this.#receive(message);
    });
    const closed = new Promise<void>((resolve) => port1.once('close', resolve));
    const start = { port: port2, workerData: options.workerData };
    // Piscina takes its type of the list from an overload of postMessage that newer Node types list differently.
    const transferList = [port2] as never;
    const session = options.piscina.run(start, { transferList, signal: this.#killer.signal });
    void this.#live(session, closed);
  }

  get open(): boolean {
    return this.#state === 'open';
  }

  get load(): number {
    return this.#tasks.size;
  }

  /** The kind of task that it answered at once when it last had any. */
  get quickAt(): string | undefined {
    return this.#quickAt;
  }

  /** Resolves when it takes tasks; rejects, as `transient`, when the thread cannot start. */
  async opened(): Promise<void> {
    const { clock, openMs } = this.#options;
    const cancel = clock.after(openMs, () => this.fail(defect(`it was not ready after ${openMs} ms`)));
    try {
      await this.#opened.promise;
    } catch (error) {
      const text = `a worker thread could not start: ${messageOf(error)}`;
      throw transient(text, { cause: error, unreachable: true });
    } finally {
      cancel();
    }
  }

  /** The thread could not start; no effect later. */
  fail(error: unknown): void {
    if (this.#state !== 'opening') return;
    this.#opened.reject(error);
    this.terminate();
  }

  assign(task: ThreadTask): void {
    const id = this.#tasks.put(task);
    task.seat = this;
    task.slot = id;
    this.#hadTasks = true;
    const { last } = this.#outbox;
    if (last?.kind === 'run' && last.task === task.name) {
      last.ids.push(id);
      last.inputs.push(task.input);
    } else this.#outbox.post({ kind: 'run', task: task.name, ids: [id], inputs: [task.input] });
  }

  /** Aborts the task's signal in the thread; ends the thread when the task goes on regardless. */
  cancel(task: ThreadTask, reason: unknown): void {
    if (task.seat !== this || task.cancelled) return;
    task.cancelled = { reason };
    this.#outbox.post({ kind: 'abort', id: task.slot, reason: toWire(reason) });
    const { clock, cancelGraceMs } = this.#options;
    this.#graces.set(
      task.slot,
      clock.after(cancelGraceMs, () => this.terminate()),
    );
  }

  cancelAll(reason: unknown): void {
    for (const task of this.#tasks) this.cancel(task, reason);
  }

  /** Asks a thread without tasks to end. */
  leave(): void {
    if (this.#state !== 'open') return;
    this.#state = 'leaving';
    this.#outbox.post({ kind: 'end' });
    // One that does not manage is not worth waiting for.
    this.#graces.set(
      -1,
      this.#options.clock.after(TERMINATE_MS, () => this.terminate()),
    );
  }

  /** Ends the thread by force. */
  terminate(): void {
    if (this.#state !== 'gone') this.#state = 'leaving';
    this.#killer.abort();
  }

  #receive(message: FromThread): void {
    if (message.kind === 'ready') {
      if (this.#state === 'opening') this.#state = 'open';
      this.#opened.resolve();
    } else if (message.kind === 'unready') {
      this.#opened.reject(fromWire(message.failure));
    } else if (message.kind === 'done') {
      this.#done(message);
    } else if (message.kind === 'pace') {
      this.#quickAt = message.quickAt;
    } else {
      const task = this.#take(message.id);
      if (!task) return;
      task.reject(task.cancelled ? task.cancelled.reason : fromWire(message.failure));
      this.#options.freed();
    }
  }

  #done({ ids, outputs }: TasksDone): void {
    for (let n = 0; n < ids.length; n++) this.#take(ids[n] as number)?.resolve(outputs[n]);
    this.#options.freed();
  }

  #cannotCross(message: ToThread, error: unknown): void {
    if (message.kind !== 'run') return;
    const fault = `input of task '${message.task}' cannot cross to a thread: ${messageOf(error)}`;
    for (const id of message.ids) this.#take(id)?.reject(defect(fault));
    this.#options.freed();
  }

  #take(id: number): ThreadTask | undefined {
    const task = this.#tasks.take(id);
    if (task?.cancelled) {
      this.#graces.get(id)?.();
      this.#graces.delete(id);
    }
    if (this.#tasks.size === 0) this.idleSince = this.#options.clock.now();
    return task;
  }

  /** Never rejects. */
  async #live(session: Promise<void>, closed: Promise<void>): Promise<void> {
    const end = await session.then(
      () => new Error('its session ended'),
      (error: unknown) => error,
    );
    const ordered = this.#killer.signal.aborted;
    const asked = this.#state === 'leaving';
    this.#state = 'leaving';
    // Results sent before the end come before the port's close, and a thread told to end is still there until then.
    if (this.#hadTasks) await settledWithin(this.#options.clock, TERMINATE_MS, closed);
    this.#state = 'gone';
    this.#port.close();
    this.#opened.reject(end);
    for (const cancel of this.#graces.values()) cancel();
    for (const task of this.#tasks.drain()) {
      if (task.cancelled) task.reject(task.cancelled.reason);
      else if (ordered) task.reject(new ThreadDied('the worker thread was ended because of another task', false));
      else task.reject(new ThreadDied(`the worker thread died: ${messageOf(end)}`, true, end));
    }
    this.#options.gone(this, asked ? undefined : end);
  }
}
