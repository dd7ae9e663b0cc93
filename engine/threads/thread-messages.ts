// The messages between the pool and its threads: one call for each task, and its answer.

import type { ScriptEvidence } from '../model/script-evidence.ts';
import { Failure, type FailureKind, kindOf, type Lack, lackOf, messageOf } from '../runtime/failure.ts';
import type { SharedWords } from './task-slots.ts';

/** A map from task name to its input and output. Both are plain data. */
export type TaskMap<Tasks> = { readonly [K in keyof Tasks]: { readonly input: unknown; readonly output: unknown } };

/** What a thread gets when it starts. */
export interface ThreadData {
  readonly words: SharedWords;
  /** Of the pool's options. */
  readonly own: unknown;
}

export interface TaskCall {
  readonly name: string;
  readonly input: unknown;
  readonly slot: number;
}

export type TaskAnswer =
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly failure: WireFailure }
  /** The thread could not open its resources; the task has not run. */
  | { readonly kind: 'unready'; readonly failure: WireFailure };

/** A failure as plain data, because the structured clone of an error loses its class and own fields. */
interface WireFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly unreachable: boolean;
  readonly unanswered: boolean;
  readonly maxAttempts: number | undefined;
  readonly lack: Lack | undefined;
  readonly script: ScriptEvidence | undefined;
  readonly stack: string | undefined;
}

export function toWire(error: unknown): WireFailure {
  return {
    kind: kindOf(error),
    message: messageOf(error),
    unreachable: error instanceof Failure && error.unreachable,
    unanswered: error instanceof Failure && error.unanswered,
    maxAttempts: error instanceof Failure ? error.maxAttempts : undefined,
    lack: lackOf(error),
    script: error instanceof Failure ? error.script : undefined,
    stack: error instanceof Error ? error.stack : undefined,
  };
}

export function fromWire(wire: WireFailure): Failure {
  const { unreachable, unanswered, maxAttempts, lack, script } = wire;
  const failure = new Failure(wire.kind, wire.message, { unreachable, unanswered, maxAttempts, lack, script });
  // The stack of the place where it was thrown, not of this one.
  if (wire.stack !== undefined) failure.stack = wire.stack;
  return failure;
}
