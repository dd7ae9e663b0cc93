// What crosses between the pool and its threads. One session per thread: the pool's first message to it is a
// SessionStart, after that both sides send arrays over its port (see outbox.ts).
//
// Tasks and their results cross in columns, all that follow one another in one message: to clone an object costs five
// times as much as to clone what is in it.

import type { MessagePort } from 'node:worker_threads';
import { Failure, type FailureKind, kindOf, messageOf } from '../runtime/failure.ts';

/** A map from task name to what goes in and comes out, plain data both. */
export type TaskMap<Tasks> = { readonly [K in keyof Tasks]: { readonly input: unknown; readonly output: unknown } };

export interface SessionStart {
  readonly port: MessagePort;
  /** For the thread to open its resources with. */
  readonly workerData: unknown;
}

/** `inputs[n]` is that of task `ids[n]`. */
export interface RunTasks {
  readonly kind: 'run';
  readonly task: string;
  readonly ids: number[];
  readonly inputs: unknown[];
}

/** `outputs[n]` is that of task `ids[n]`. */
export interface TasksDone {
  readonly kind: 'done';
  readonly ids: number[];
  readonly outputs: unknown[];
}

export type ToThread =
  | RunTasks
  | { readonly kind: 'abort'; readonly id: number; readonly reason: WireFailure }
  /** Sent to a thread without tasks only: close the resources and end the session. */
  | { readonly kind: 'end' };

export type FromThread =
  | { readonly kind: 'ready' }
  /** The resources could not be opened; the session ends. */
  | { readonly kind: 'unready'; readonly failure: WireFailure }
  | TasksDone
  /** The kind of task that it is quick at from now on: it answered all that came, of that kind alone, at once. */
  | { readonly kind: 'pace'; readonly quickAt: string | undefined }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: WireFailure };

export function partsToThread(message: ToThread): readonly ToThread[] {
  if (message.kind !== 'run') return [message];
  const { ids, inputs } = message;
  return ids.map((id, n) => ({ ...message, ids: [id], inputs: [inputs[n]] }));
}

export function partsFromThread(message: FromThread): readonly FromThread[] {
  if (message.kind !== 'done') return [message];
  const { ids, outputs } = message;
  return ids.map((id, n) => ({ ...message, ids: [id], outputs: [outputs[n]] }));
}

/** A failure as plain data: an error's class and own fields do not survive the crossing. */
export interface WireFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly unreachable: boolean;
  readonly unanswered: boolean;
  readonly maxTries: number | undefined;
  readonly stack: string | undefined;
}

export function toWire(error: unknown): WireFailure {
  return {
    kind: kindOf(error),
    message: messageOf(error),
    unreachable: error instanceof Failure && error.unreachable,
    unanswered: error instanceof Failure && error.unanswered,
    maxTries: error instanceof Failure ? error.maxTries : undefined,
    stack: error instanceof Error ? error.stack : undefined,
  };
}

export function fromWire(wire: WireFailure): Failure {
  const { unreachable, unanswered, maxTries } = wire;
  const failure = new Failure(wire.kind, wire.message, { unreachable, unanswered, maxTries });
  // Where it was thrown, not where it arrived.
  if (wire.stack !== undefined) failure.stack = wire.stack;
  return failure;
}
