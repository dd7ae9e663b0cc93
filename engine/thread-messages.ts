// What crosses between the pool and its threads. One session per thread: the pool's first message to it is a
// SessionStart, after that both sides send arrays over its port (see outbox.ts).

import type { MessagePort } from 'node:worker_threads';
import { Failure, type FailureKind, kindOf, messageOf } from './failure.ts';

/** A map from task name to what goes in and comes out, plain data both. */
export type TaskMap<Tasks> = { readonly [K in keyof Tasks]: { readonly input: unknown; readonly output: unknown } };

export interface SessionStart {
  readonly port: MessagePort;
  /** For the thread to open its resources with. */
  readonly workerData: unknown;
}

export type ToThread =
  | { readonly kind: 'run'; readonly id: number; readonly task: string; readonly input: unknown }
  | { readonly kind: 'abort'; readonly id: number; readonly reason: WireFailure }
  /** Sent to a thread without tasks only: close the resources and end the session. */
  | { readonly kind: 'end' };

export type FromThread =
  | { readonly kind: 'ready' }
  /** The resources could not be opened; the session ends. */
  | { readonly kind: 'unready'; readonly failure: WireFailure }
  | { readonly kind: 'done'; readonly id: number; readonly output: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: WireFailure };

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
