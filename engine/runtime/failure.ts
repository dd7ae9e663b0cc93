// The four kinds of failure. Only the kind decides whether a job is retried, whether a message is acknowledged, and which HTTP
// class is returned. Never match on a message's text.
//
//   rejected   the user's data or request is at fault; retrying cannot help
//   transient  something outside may recover later; retry with back-off
//   aborted    we stopped it ourselves (shutdown, lost lease, cancelled request); back to the queue
//   defect     a bug of ours or of a plugin; recorded, not hidden

export type FailureKind = 'rejected' | 'transient' | 'aborted' | 'defect';

export interface FailureOptions {
  readonly cause?: unknown;
  /** A dependency could not be reached at all (refused, breaker open): the job waits without using up an attempt. */
  readonly unreachable?: boolean;
  /** The dependency that was called did not answer (refused, reset, bad gateway): its circuit breaker counts this. */
  readonly unanswered?: boolean;
  /** Upper limit on attempts, the first included, when the caller's retry policy allows more. */
  readonly maxAttempts?: number | undefined;
  /** What the script left whose failure it is: ScriptEvidence (engine/model/script-evidence.ts). */
  readonly script?: { readonly exitCode?: number | undefined; readonly output?: string | undefined } | undefined;
}

export class Failure extends Error {
  readonly kind: FailureKind;
  readonly unreachable: boolean;
  readonly unanswered: boolean;
  readonly maxAttempts: number | undefined;
  readonly script: FailureOptions['script'];

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.kind = kind;
    this.unreachable = options.unreachable ?? false;
    this.unanswered = options.unanswered ?? false;
    this.maxAttempts = options.maxAttempts;
    this.script = options.script;
  }
}

export const rejected = (message: string, options?: FailureOptions): Failure =>
  new Failure('rejected', message, options);
export const transient = (message: string, options?: FailureOptions): Failure =>
  new Failure('transient', message, options);
export const aborted = (message: string, options?: FailureOptions): Failure => new Failure('aborted', message, options);
export const defect = (message: string, options?: FailureOptions): Failure => new Failure('defect', message, options);

/** The kind of anything thrown. An abort error is `aborted`; anything else that is not a {@link Failure} is a `defect`. */
export function kindOf(error: unknown): FailureKind {
  if (error instanceof Failure) return error.kind;
  if (error instanceof Error && error.name === 'AbortError') return 'aborted';
  return 'defect';
}

/** Error codes of file systems, of system quotas, and of PostgreSQL (disk_full). */
const NO_ROOM: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);
const DEEPEST_CAUSE = 10;

/** True when a full disk, or a full disk quota, is the cause, whatever operation failed. */
export function hasNoRoom(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < DEEPEST_CAUSE; at = at.cause, depth++)
    if ('code' in at && NO_ROOM.has(at.code)) return true;
  return false;
}

/** A message for people about anything thrown. */
export function messageOf(error: unknown): string {
  // When a host name has several addresses, a failed connection has the errors of all of them, and no message itself.
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map((one: unknown) => messageOf(one)))].join('; ');
  return error instanceof Error ? error.message : String(error);
}

// An operator's order to end a job.

/** An operator has cancelled the work. `hard`: without the usual grace. */
export class Cancelled extends Failure {
  readonly hard: boolean;

  constructor(message: string, hard: boolean) {
    super('rejected', message);
    this.name = 'Cancelled';
    this.hard = hard;
  }
}

// The failure of a service that is full at present.

/** There is no room at present. Over HTTP this is 503 with `Retry-After`. */
export class Busy extends Failure {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super('transient', message);
    this.name = 'Busy';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What the script left whose failure this is: nothing else of it. */
export function evidenceOf(error: unknown): NonNullable<FailureOptions['script']> {
  const { exitCode, output } = (error instanceof Failure && error.script) || {};
  return { ...(exitCode === undefined ? {} : { exitCode }), ...(output === undefined ? {} : { output }) };
}

/** The code of an error of the system or of Node.js, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

// Messages that users may read about a failure that they did not cause: internal locations of services, plugins and files are
// removed. The log has the full message. Output of a script for the owner of a dataset is not changed here.

const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/[^\s'"<>)\]};,]+(?<![:.])/gi;
/** Node.js's message for a failed name lookup. */
const LOOKED_UP = /\b(ENOTFOUND|EAI_AGAIN) [^\s'",;)]+/g;
const IP_V4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?!\w|\.\d)/g;
const IP_V6 =
  /(?<![\w:])(?:\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d{1,5})?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])(?::\d{1,5})?)/gi;
const HOST_AND_PORT = /(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}(?!\w|:\d)/gi;
const PATH = /(?<![\w./])\/(?:[^\s'"():,;/]+\/)*([^\s'"():,;/]*)/g;

/** Removes addresses, and reduces paths to their last name. */
export function withoutInternals(text: string): string {
  return text
    .replace(URL_TEXT, 'an internal address')
    .replace(LOOKED_UP, '$1')
    .replace(IP_V6, 'an internal address')
    .replace(IP_V4, 'an internal address')
    .replace(HOST_AND_PORT, 'an internal address')
    .replace(PATH, '$1');
}

/** A rejection concerns the user's own input and is worded for the user. */
export const publicMessage = (error: unknown): string =>
  kindOf(error) === 'rejected' ? messageOf(error) : withoutInternals(messageOf(error));

/**
 * The public message of a job's outcome.
 * @param own text that the user provided and may read again, such as a URL
 */
export function publicOutcome(
  { failure, message }: { readonly kind: string; readonly message: string; readonly failure?: string },
  own?: string,
): string {
  if (failure === 'rejected') return message;
  return own === undefined ? withoutInternals(message) : message.split(own).map(withoutInternals).join(own);
}
