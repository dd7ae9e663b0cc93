// The thread side of the worker pool. A thread's entry file contains
//   export default serveTasks(open, handlers);
// The first task of a thread opens the thread's resources, and all its tasks share them until the thread ends. A task that fails
// does not affect others. An error thrown outside of any task ends the thread, and the pool fails its tasks.

import { threadId, workerData } from 'node:worker_threads';
import { aborted, defect, messageOf } from '../runtime/failure.ts';
import { ABORT, OWNER, type TaskAnswer, type TaskCall, type TaskMap, toWire, WAITING } from './thread-messages.ts';

type TaskHandlers<Tasks extends TaskMap<Tasks>, Resources> = {
  readonly [K in keyof Tasks]: (
    input: Tasks[K]['input'],
    resources: Resources,
    signal: AbortSignal,
  ) => Promise<Tasks[K]['output']>;
};

type Handler<Resources> = (input: unknown, resources: Resources, signal: AbortSignal) => Promise<unknown>;

/** `open` receives the pool's `workerData`. The result runs one task; undefined when the task was cancelled before it began. */
export function serveTasks<Tasks extends TaskMap<Tasks>, WorkerData, Resources>(
  open: (workerData: WorkerData) => Promise<Resources>,
  handlers: TaskHandlers<Tasks, Resources>,
): (call: TaskCall) => Promise<TaskAnswer | undefined> {
  // The pool's run() is typed by the same map, so a name and its input always fit.
  const byName = new Map(Object.entries(handlers) as [string, Handler<Resources>][]);
  let opened: Promise<Resources> | undefined;
  return async ({ name, input, control }) => {
    if (Atomics.compareExchange(control, OWNER, WAITING, threadId) !== WAITING) return undefined;
    let resources: Resources;
    try {
      opened ??= open(workerData as WorkerData);
      resources = await opened;
    } catch (error) {
      // The next task tries to open them again.
      opened = undefined;
      return { kind: 'unready', failure: toWire(error) };
    }
    const signal = signalOf(control);
    try {
      const handler = byName.get(name);
      if (!handler) throw defect(`no task is named '${name}'; there are: ${[...byName.keys()].join(', ')}`);
      signal.throwIfAborted();
      return { kind: 'done', output: clonable(await handler(input, resources, signal)) };
    } catch (error) {
      return { kind: 'failed', failure: toWire(error) };
    } finally {
      // Ends the wait in `signalOf`, because an abort has no effect any more.
      Atomics.notify(control, ABORT);
    }
  };
}

/** A signal that aborts when the pool sets ABORT. The caller's reason stays in the pool, which rejects the task with it. */
function signalOf(control: Int32Array<SharedArrayBuffer>): AbortSignal {
  const controller = new AbortController();
  const told = (): void => {
    if (Atomics.load(control, ABORT) === 1) controller.abort(aborted('the task was cancelled'));
  };
  const wait = Atomics.waitAsync(control, ABORT, 0);
  if (wait.async) void wait.value.then(told);
  else told();
  return controller.signal;
}

/** An answer that cannot be cloned would crash Piscina's code in the thread, so we check it first. Outputs are small. */
function clonable(output: unknown): unknown {
  try {
    structuredClone(output);
    return output;
  } catch (error) {
    throw defect(`a task's output cannot leave its thread: ${messageOf(error)}`);
  }
}
