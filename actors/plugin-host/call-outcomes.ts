// How calls end, by what their scripts did and printed.

import type { CallOutcome } from '../../engine/ports/plugin-client.ts';
import { type ScriptError, type ScriptOutcome, splitMessages } from './scripts.ts';

export const DONE: CallOutcome = { kind: 'done' };

export const valid = (lines: readonly string[]): CallOutcome => ({ kind: 'valid', messages: splitMessages(lines) });

export const invalid = (lines: readonly string[]): CallOutcome => ({ kind: 'invalid', messages: splitMessages(lines) });

export const missingDependency = (lines: readonly string[]): CallOutcome => ({
  kind: 'missing-dependency',
  lines: lines.filter((line) => line.trim() !== ''),
});

export const serverError = (message: string): CallOutcome => ({ kind: 'server-error', message });

/** The outcome of a script that neither succeeded nor refused the data. */
export function scriptFailure(
  outcome: ScriptError | Extract<ScriptOutcome, { kind: 'failed' | 'later' }>,
): CallOutcome {
  if (outcome.kind === 'later') return outcome;
  if (outcome.kind === 'error') return { ...outcome, kind: 'script-error' };
  const { started: _, ...failure } = outcome;
  return { ...failure, kind: 'server-error' };
}
