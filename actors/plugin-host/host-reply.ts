// Replies of the plugin host, as the plugin wire protocol has them (docs/design/decisions.md#plugin-wire-protocol).

import { type HostReply, PLUGIN_STATUS as STATUS } from '../../engine/model/plugin-protocol.ts';
import type { ScriptError, ScriptOutcome } from './script-call.ts';
import { splitMessages } from './script-messages.ts';
import { validationDocument } from './wire-documents.ts';

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
