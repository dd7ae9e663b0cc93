// Answers of the plugin host before they are HTTP (plugin wire protocol, response bodies).

import type { ScriptError, ScriptOutcome } from './script-call.ts';
import { splitMessages } from './script-messages.ts';
import { validationDocument } from './wire-documents.ts';

export type HostReply =
  | { readonly kind: 'zip'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'json'; readonly status: number; readonly body: object }
  /** Nothing came of it, and it is to be asked for again. */
  | { readonly kind: 'later'; readonly message: string }
  | { readonly kind: 'empty' };

export const STATUS = { ok: 200, invalid: 418, missingDependency: 420, scriptError: 555, serverError: 500 } as const;

export const done: HostReply = { kind: 'empty' };

export const valid = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.ok,
  body: validationDocument(true, splitMessages(lines)),
});

export const invalid = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.invalid,
  body: validationDocument(false, splitMessages(lines)),
});

export const missingDependency = (lines: readonly string[]): HostReply => ({
  kind: 'json',
  status: STATUS.missingDependency,
  body: { warnings: lines.filter((line) => line.trim() !== '') },
});

export const serverError = (message: string): HostReply => ({
  kind: 'json',
  status: STATUS.serverError,
  body: { message },
});

/** What a script's end that is neither success nor refusal is answered with. */
export function scriptFailure(outcome: ScriptError | Extract<ScriptOutcome, { kind: 'failed' | 'later' }>): HostReply {
  if (outcome.kind === 'later') return outcome;
  if (outcome.kind === 'failed') return serverError(outcome.message);
  const { script, exitCode, message } = outcome;
  return { kind: 'json', status: STATUS.scriptError, body: { script, 'exit-code': exitCode, message } };
}
