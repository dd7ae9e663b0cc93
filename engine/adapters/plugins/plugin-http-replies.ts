// Maps responses of a plugin server to outcomes (docs/design/decisions.md#plugin-wire-protocol). Fields with their default
// value may be missing.

import { isObject, parseJson } from '../../model/json.ts';
import { OUTPUT_BYTES } from '../../model/script-evidence.ts';
import { decodeDocument, lastBytes } from '../../model/utf8.ts';
import { LATER, PLUGIN_FAULT_ATTEMPTS, type PluginFailure, type Validation } from '../../ports/plugin-client.ts';
import { defect, Failure, transient } from '../../runtime/failure.ts';

export const CODE = {
  success: 200,
  invalid: 418,
  missingDependency: 420,
  scriptError: 555,
  serverError: 500,
} as const;

/** More than a host may respond as text: its scripts' messages are capped at 4 MiB. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/** Reads the body as text. A longer body is cut off and fails. */
export async function readText(body: AsyncIterable<Buffer>, where: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_TEXT_BYTES) throw defect(`${where}: the response is larger than ${MAX_TEXT_BYTES} bytes`);
    chunks.push(chunk);
  }
  const text = decodeDocument(Buffer.concat(chunks));
  if (text === undefined) throw defect(`${where}: the response is not UTF-8`);
  return text;
}

export function parseValidation(text: string, where: string): Validation {
  const { basicValidation, communityValidation } = parseFields(text, where);
  return { basic: texts(basicValidation), community: texts(communityValidation) };
}

export function parseWarnings(text: string, where: string): readonly string[] {
  return texts(parseFields(text, where).warnings);
}

export function parseScriptError(text: string, where: string): PluginFailure {
  const { script, message, 'exit-code': code, output } = parseFields(text, where);
  const said = typeof message === 'string' ? message : '';
  const what = said || `script ${script ?? '(unnamed)'} ended with exit code ${code ?? 0}`;
  const evidence = typeof code === 'number' ? { exitCode: code } : {};
  return { kind: 'script-error', message: what, ...evidence, ...printed(output) };
}

/** The body of a 500 may be anything, because a proxy may have written it. */
export function parseServerError(text: string, where: string): PluginFailure {
  const { message, output } = fieldsOrNone(text, where);
  const what = typeof message === 'string' && message ? message : `${where}: HTTP 500`;
  return { kind: 'server-error', message: what, ...printed(output) };
}

function fieldsOrNone(text: string, where: string): Readonly<Record<string, unknown>> {
  try {
    return parseFields(text, where);
  } catch {
    return {}; // not a JSON object
  }
}

/** Only a server of ours sends it, but another one may send anything. */
const printed = (output: unknown): { readonly output?: string } =>
  typeof output === 'string' && output !== '' ? { output: lastBytes(output, OUTPUT_BYTES) } : {};

/** The failure for any other code. @param scriptRan the response says so (`SCRIPT_RAN`) */
export function unexpectedCode(code: number, text: string, where: string, scriptRan: boolean): Failure {
  const said = text.slice(0, 500).trim();
  const message = `${where}: HTTP ${code}${said === '' ? '' : ` (${said})`}`;
  if (code === 502) return transient(message, { unanswered: true });
  // The gateway timed out while the server worked on the call.
  if (code === 504) return transient(message, { maxAttempts: PLUGIN_FAULT_ATTEMPTS });
  // The work may be partly done, and the plugin is not at fault: counts as an ordinary attempt.
  if (code === 503 && scriptRan) {
    const fields = fieldsOrNone(text, where);
    const { output } = printed(fields.output);
    if (output === undefined || typeof fields.message !== 'string') return transient(message);
    return transient(`${where}: HTTP ${code} (${fields.message})`, { script: { exitCode: LATER, output } });
  }
  // The server did not accept the call: waiting must not use up an attempt.
  if (code === 503) return transient(message, { unreachable: true, unanswered: true });
  return defect(`${message}, which is not part of the plugin protocol`);
}

/** How long we waited for a response, in milliseconds. */
export interface AnswerTimes {
  /** Until its head. */
  readonly headMs: number;
  /** Maximum silence within its body. */
  readonly idleMs: number;
}

/** Maps connection errors. If the connection was refused, it is certain that the call was not executed. */
export function connectionFailure(error: unknown, where: string, { headMs, idleMs }: AnswerTimes): unknown {
  if (error instanceof Failure) return error;
  const code = codeOf(error);
  const late = { cause: error, maxAttempts: PLUGIN_FAULT_ATTEMPTS };
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return transient(`${where}: timeout, no response within ${headMs} ms`, late);
  if (code === 'UND_ERR_BODY_TIMEOUT')
    return transient(`${where}: timeout, the response stalled for ${idleMs} ms`, late);
  const text = error instanceof Error ? error.message : String(error);
  if (NOT_REACHED.includes(code) && !isOfOpenConnection(error))
    return transient(`${where} not reached: ${text}`, { cause: error, unreachable: true, unanswered: true });
  // A failed system call: a full disk, or a connection error that is not listed.
  if (LOST.includes(code) || (error instanceof Error && 'syscall' in error))
    return transient(`${where}: ${text}`, { cause: error, unanswered: RESET.includes(code) });
  return defect(`${where}: ${text}`, { cause: error });
}

/** The connection existed, so the work may have begun. */
const isOfOpenConnection = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && (error.syscall === 'read' || error.syscall === 'write');

const NOT_REACHED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
];
const LOST = [
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_ABORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_STREAM_PREMATURE_CLOSE',
];

/** The subset of `LOST` that means that the server is gone, as opposed to busy for too long. */
const RESET = ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'ERR_STREAM_PREMATURE_CLOSE'];

function codeOf(error: unknown): string {
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: readonly unknown[] };
  // A name with several addresses fails with one error per address.
  if (typeof code === 'string') return code;
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? '' : codeOf(inner);
}

function parseFields(text: string, where: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw defect(`${where}: the response is not JSON`, { cause });
  }
  if (!isObject(value)) throw defect(`${where}: the response is not a JSON object`);
  return value;
}

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
