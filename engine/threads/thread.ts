// The thread side of the worker pool. A thread's entry file contains
//   export default serveTasks(open, handlers);
// A session opens the thread's own resources once, runs any number of tasks concurrently, and closes the resources at its end.
// A task that fails does not affect others. An error thrown outside of any task ends the thread, and the pool fails its tasks.

import type { MessagePort } from 'node:worker_threads';
import { defect, messageOf } from '../runtime/failure.ts';
import { stopwatch, systemClock } from '../runtime/time.ts';
import { BusyPoll } from './busy-poll.ts';
import { MANY, Outbox } from './outbox.ts';
import {
  type FromThread,
  fromWire,
  partsFromThread,
  type RunTasks,
  type SessionStart,
  type TaskMap,
  type ToThread,
  toWire,
} from './thread-messages.ts';

export type TaskHandlers<Tasks extends TaskMap<Tasks>, Resources> = {
  readonly [K in keyof Tasks]: (
    input: Tasks[K]['input'],
    resources: Resources,
    signal: AbortSignal,
  ) => Promise<Tasks[K]['output']>;
};

/** With work longer than this it is worthwhile to send some answers earlier. */
const LONG_MS = 2;

/** A thread is quick at a kind of task when it answers all of them within this time: waking another thread takes as long. */
const QUICK_MS = 0.2;

type Handler<Resources> = (input: unknown, resources: Resources, signal: AbortSignal) => Promise<unknown>;

/** `open` receives the pool's `workerData`. The pool calls the result in the thread, once per session. */
export function serveTasks<Tasks extends TaskMap<Tasks>, WorkerData, Resources extends AsyncDisposable>(
  open: (workerData: WorkerData) => Promise<Resources>,
  handlers: TaskHandlers<Tasks, Resources>,
): (session: SessionStart) => Promise<void> {
  // The pool's run() is typed by the same map, so a name and its input always fit.
  const byName = new Map(Object.entries(handlers) as [string, Handler<Resources>][]);
  return async ({ port, workerData }) => {
    try {
      await using resources = await open(workerData as WorkerData);
      await new ThreadSession(port, byName, resources).ended;
    } catch (error) {
      port.postMessage([{ kind: 'unready', failure: toWire(error) } satisfies FromThread]);
    } finally {
      port.close();
    }
  };
}

/** The task's name when the batch is a single message, which runs tasks of one kind; undefined otherwise. */
function onlyTaskOf(batch: readonly ToThread[]): string | undefined {
  const [only] = batch;
  return batch.length === 1 && only?.kind === 'run' ? only.task : undefined;
}

class ThreadSession<Resources> {
  readonly ended: Promise<void>;
  readonly #handlers: ReadonlyMap<string, Handler<Resources>>;
  readonly #resources: Resources;
  readonly #outbox: Outbox<FromThread>;
  /**
   * By task number: tasks that run or are about to. The pool reuses numbers, so the array stays as small as the peak
   * concurrency.
   */
  readonly #running: (AbortController | undefined)[] = [];
  #unanswered = 0;
  /** The last batch that arrived. */
  #arrived: { readonly at: number; readonly task: string | undefined } = { at: 0, task: undefined };
  #quickAt: string | undefined;

  constructor(port: MessagePort, handlers: ReadonlyMap<string, Handler<Resources>>, resources: Resources) {
    this.#handlers = handlers;
    this.#resources = resources;
    const poll = new BusyPoll();
    this.#outbox = new Outbox(port, {
      parts: partsFromThread,
      count: (message) => (message.kind === 'done' ? message.ids.length : 1),
      refused: (message, error) => this.#cannotCross(message, error),
      holds: () => false,
      sent: (parts) => {
        poll.sent(parts);
        this.#tellPace();
      },
    });
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    port.on('message', (batch: readonly ToThread[]) => {
      poll.received();
      this.#arrived = { at: stopwatch(), task: onlyTaskOf(batch) };
      for (const message of batch) {
        if (message.kind === 'run') this.#runAll(message);
        else if (message.kind === 'abort') this.#running[message.id]?.abort(fromWire(message.reason));
        else ended.resolve();
      }
    });
    this.#outbox.post({ kind: 'ready' });
  }

  /**
   * Tasks that compute run one after the other, and none is answered before the event is over. Of many long tasks the first
   * half is answered before the second begins: the pool sends more meanwhile, and the thread never waits for work.
   */
  #runAll({ task, ids, inputs }: RunTasks): void {
    const handler = this.#handlers.get(task) ?? (() => Promise.reject(this.#noTask(task)));
    const runFrom = (from: number, to: number): void => {
      for (let n = from; n < to; n++) void this.#run(ids[n] as number, handler, inputs[n]);
    };
    this.#unanswered += ids.length;
    for (const id of ids) this.#running[id] = new AbortController();
    const half = ids.length < 2 * MANY ? ids.length : ids.length >> 1;
    const begun = systemClock.now();
    runFrom(0, half);
    if (half < ids.length && systemClock.now() - begun >= LONG_MS) setImmediate(() => runFrom(half, ids.length));
    else runFrom(half, ids.length);
  }

  /** Never rejects. */
  async #run(id: number, handler: Handler<Resources>, input: unknown): Promise<void> {
    const signal = this.#running[id]?.signal as AbortSignal;
    try {
      signal.throwIfAborted();
      this.#done(id, await handler(input, this.#resources, signal));
    } catch (error) {
      this.#outbox.post({ kind: 'failed', id, failure: toWire(error) });
    }
    this.#running[id] = undefined;
    this.#unanswered--;
  }

  #done(id: number, output: unknown): void {
    const { last } = this.#outbox;
    if (last?.kind !== 'done') this.#outbox.post({ kind: 'done', ids: [id], outputs: [output] });
    else {
      last.ids.push(id);
      last.outputs.push(output);
    }
  }

  /** Tells the pool when this thread has become quick at a kind of task, or no longer is. */
  #tellPace(): void {
    const { at, task } = this.#arrived;
    const quickAt = this.#unanswered === 0 && stopwatch() - at <= QUICK_MS ? task : undefined;
    if (quickAt !== this.#quickAt) this.#outbox.post({ kind: 'pace', quickAt });
    this.#quickAt = quickAt;
  }

  #noTask(name: string): Error {
    return defect(`no task is named '${name}'; there are: ${[...this.#handlers.keys()].join(', ')}`);
  }

  #cannotCross(message: FromThread, error: unknown): void {
    if (message.kind !== 'done') return;
    const failure = toWire(defect(`a task's output cannot leave its thread: ${messageOf(error)}`));
    for (const id of message.ids) this.#outbox.post({ kind: 'failed', id, failure });
  }
}
