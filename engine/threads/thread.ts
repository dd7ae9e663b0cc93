// The thread side of the worker pool. A thread's entry file contains
//   export default serveTasks(open, handlers);
// The first task of a thread opens the thread's resources, and all its tasks share them until the thread ends. A task that fails
// does not affect others. An error thrown outside of any task ends the thread, and the pool fails its tasks.

import { threadId, workerData } from 'node:worker_threads';
import { defect, messageOf } from '../runtime/failure.ts';
import { TaskAborts } from './task-aborts.ts';
import { ownerWord, WAITING } from './task-slots.ts';
import { type TaskAnswer, type TaskCall, type TaskMap, type ThreadData, toWire } from './thread-messages.ts';

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
  const { words, own } = workerData as ThreadData;
  const aborts = new TaskAborts(words);
  let opened: Promise<Resources> | undefined;
  return async ({ name, input, slot }) => {
    if (Atomics.compareExchange(words, ownerWord(slot), WAITING, threadId) !== WAITING) return undefined;
    let resources: Resources;
    try {
      opened ??= open(own as WorkerData);
      resources = await opened;
    } catch (error) {
      // The next task tries to open them again.
      opened = undefined;
      return { kind: 'unready', failure: toWire(error) };
    }
    const signal = aborts.begin(slot);
    try {
      const handler = byName.get(name);
      if (!handler) throw defect(`no task is named '${name}'; there are: ${[...byName.keys()].join(', ')}`);
      signal.throwIfAborted();
      return { kind: 'done', output: clonable(await handler(input, resources, signal)) };
    } catch (error) {
      return { kind: 'failed', failure: toWire(error) };
    } finally {
      aborts.end(slot);
    }
  };
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
