// The threads of one kind (shared, or for tasks that run alone) and the tasks that wait for a place in them.
//   A task goes to the least loaded thread; but one that has been quick at its kind gets up to HANDFUL before any other:
//   to wake another takes longer than such tasks do. Should one of them last for once, the others of the handful wait for it.
//   While more threads may be started, a task waits for the new one instead of sharing; threads start one after the other.
//   A thread without tasks for `idleMs` ends.
//   A thread that cannot start: tasks use the others; without others they fail as `transient`, unreachable, and so does
//   every new one until the next attempt is due.

import { messageOf, transient } from '../runtime/failure.ts';
import type { Logger } from '../runtime/log.ts';
import { Backoff, DELAYS } from '../runtime/retry.ts';
import type { Clock } from '../runtime/time.ts';
import { AbortWatch } from './abort-watch.ts';
import type { ThreadSeat } from './thread-seat.ts';
import { type TaskHome, ThreadTask } from './thread-task.ts';

export interface CrewOptions {
  readonly name: 'shared' | 'solo';
  readonly threads: number;
  readonly tasksPerThread: number;
  /** Tasks that may wait. */
  readonly queueSize: number;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes a seat and waits until it is open; one at a time in the whole pool. */
  readonly openSeat: (freed: () => void, gone: (seat: ThreadSeat, crash: unknown) => void) => Promise<ThreadSeat>;
  readonly died: () => void;
  /** The last task was answered. */
  readonly idle: () => void;
}

/** Tasks that one thread is given while others have nothing to do. */
const HANDFUL = 16;

export class ThreadCrew implements TaskHome {
  readonly #options: CrewOptions;
  readonly #seats = new Set<ThreadSeat>();
  /** In order of arrival. */
  readonly #waiting = new Map<number, ThreadTask>();
  readonly #backoff = new Backoff(DELAYS.costly);
  readonly #aborts: AbortWatch;
  #nextId = 1;
  #unanswered = 0;
  #opening = false;
  #openAfter = 0;
  #startFailure: unknown;
  #sweep: (() => void) | undefined;
  #closed = false;

  constructor(options: CrewOptions) {
    this.#options = options;
    this.#aborts = new AbortWatch(options.clock);
  }

  get threads(): number {
    return this.#seats.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#unanswered - this.#waiting.size;
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  /** Rejects as `transient` when no more tasks may wait. `signal` must not be aborted yet. */
  submit(name: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    const task = new ThreadTask(this.#nextId++, name, input, this, signal);
    this.#unanswered++;
    this.#aborts.add(task);
    const seat = this.#waiting.size === 0 ? this.#place(name) : undefined;
    if (seat) {
      seat.assign(task);
    } else if (this.#waiting.size < this.#options.queueSize) {
      this.#waiting.set(task.id, task);
      this.#pump();
    } else {
      const { name: kind, queueSize } = this.#options;
      task.reject(transient(`the ${kind} worker threads are busy and ${queueSize} tasks wait, the most that may`));
    }
    return task.answer;
  }

  cancel(task: ThreadTask, reason: unknown): void {
    if (this.#waiting.delete(task.id)) task.reject(reason);
    else task.seat?.cancel(task, reason);
  }

  answered(): void {
    this.#unanswered--;
    if (this.#unanswered === 0) this.#options.idle();
  }

  cancelAll(reason: unknown): void {
    for (const task of [...this.#waiting.values()]) this.cancel(task, reason);
    for (const seat of this.#seats) seat.cancelAll(reason);
  }

  /** Ends all threads by force; their tasks are answered as they end. */
  close(reason: unknown): void {
    this.#closed = true;
    this.#sweep?.();
    this.cancelAll(reason);
    for (const seat of this.#seats) seat.terminate();
  }

  #pump(): void {
    if (this.#closed || this.#waiting.size === 0) return;
    for (const task of this.#waiting.values()) {
      if (task.aborted) {
        task.handleEvent();
        continue;
      }
      const seat = this.#place(task.name);
      if (!seat) break;
      this.#waiting.delete(task.id);
      seat.assign(task);
    }
    if (this.#waiting.size === 0 || this.#opening) return;
    if (this.#mayOpen) void this.#open();
    else if (this.#seats.size === 0) this.#failWaiting();
  }

  /** Whether another thread can be had now or soon. */
  get #mayOpen(): boolean {
    if (this.#opening) return true;
    return this.#seats.size < this.#options.threads && this.#options.clock.now() >= this.#openAfter;
  }

  #place(name: string): ThreadSeat | undefined {
    const most = this.#mayOpen ? 1 : this.#options.tasksPerThread;
    let best: ThreadSeat | undefined;
    for (const seat of this.#seats) {
      if (!seat.open || seat.load >= most) continue;
      if (seat.quickAt === name && seat.load < HANDFUL) return seat;
      if (!best || seat.load < best.load) best = seat;
    }
    return best;
  }

  /** Never rejects. */
  async #open(): Promise<void> {
    const { clock, log, openSeat } = this.#options;
    this.#opening = true;
    try {
      const seat = await openSeat(
        () => this.#pump(),
        (gone, crash) => this.#gone(gone, crash),
      );
      if (!seat.open) throw transient('a worker thread died as soon as it had started', { unreachable: true });
      if (this.#closed) seat.terminate();
      this.#seats.add(seat);
      this.#backoff.succeeded();
      this.#scheduleSweep();
    } catch (error) {
      const delayMs = this.#backoff.failed();
      this.#openAfter = clock.now() + delayMs;
      if (!this.#closed) log.error({ err: messageOf(error), delayMs }, 'a worker thread could not start');
      this.#startFailure = error;
    }
    this.#opening = false;
    this.#pump();
  }

  #failWaiting(): void {
    const tasks = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const task of tasks) task.reject(this.#startFailure);
  }

  #gone(seat: ThreadSeat, crash: unknown): void {
    // A seat that never opened is not among them.
    if (!this.#seats.delete(seat)) return;
    if (crash !== undefined && !this.#closed) {
      this.#options.died();
      this.#options.log.error({ err: messageOf(crash) }, 'a worker thread died');
    }
    this.#pump();
  }

  #scheduleSweep(): void {
    if (this.#sweep || this.#closed) return;
    const { clock, idleMs } = this.#options;
    this.#sweep = clock.after(idleMs, () => {
      this.#sweep = undefined;
      for (const seat of this.#seats) {
        if (seat.load === 0 && clock.now() - seat.idleSince >= idleMs) seat.leave();
      }
      if (this.#seats.size > 0) this.#scheduleSweep();
    });
  }
}
