// The four kinds of failure. Only the kind decides whether a job is retried, whether a message is acknowledged, and which HTTP
// class is returned. Never match on a message's text.
//
//   rejected   the user's data or request is at fault; retrying cannot help
//   transient  something outside may recover later; retry with back-off
//   aborted    we stopped it ourselves (shutdown, lost lease, cancelled request); back to the queue
//   defect     a bug of ours or of a plugin; recorded, not hidden

export type FailureKind = 'rejected' | 'transient' | 'aborted' | 'defect';

/** What is full or unavailable. */
export type Lack = 'room' | 'storage' | 'database';

export interface FailureOptions {
  readonly cause?: unknown;
  /** A dependency could not be reached at all (refused, breaker open): the job waits without using up an attempt. */
  readonly unreachable?: boolean;
  /** The dependency that was called did not answer (refused, reset, bad gateway): its circuit breaker counts this. */
  readonly unanswered?: boolean;
  /** Upper limit on attempts, the first included, when the caller's retry policy allows more. */
  readonly maxAttempts?: number | undefined;
  /** What is full or unavailable. Users are told only that. */
  readonly lack?: Lack | undefined;
  /** For the failure of a script: its ScriptEvidence (engine/model/script-evidence.ts). */
  readonly script?: { readonly exitCode?: number | undefined; readonly output?: string | undefined } | undefined;
}

export class Failure extends Error {
  readonly kind: FailureKind;
  readonly unreachable: boolean;
  readonly unanswered: boolean;
  readonly maxAttempts: number | undefined;
  readonly lack: Lack | undefined;
  readonly script: FailureOptions['script'];

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.kind = kind;
    this.unreachable = options.unreachable ?? false;
    this.unanswered = options.unanswered ?? false;
    this.maxAttempts = options.maxAttempts;
    this.lack = options.lack;
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

/** Error codes of file systems, of system quotas, of PostgreSQL (disk_full) and of object stores. */
const NO_ROOM: ReadonlySet<unknown> = new Set([
  ...['ENOSPC', 'EDQUOT', '53100'],
  ...['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'QuotaExceeded'],
]);
const DEEPEST_CAUSE = 10;

/** What is full or unavailable, whatever operation failed because of it. A full disk or quota takes precedence. */
export function lackOf(error: unknown): Lack | undefined {
  let lack: Lack | undefined;
  for (let at = error, depth = 0; at instanceof Error && depth < DEEPEST_CAUSE; at = at.cause, depth++) {
    if ('code' in at && NO_ROOM.has(at.code)) return 'room';
    if (at instanceof Failure) lack ??= at.lack;
  }
  return lack;
}

export const hasNoRoom = (error: unknown): boolean => lackOf(error) === 'room';

/** A message for people about anything thrown. */
export function messageOf(error: unknown): string {
  // When a host name has several addresses, a failed connection has the errors of all of them, and no message itself.
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map((one: unknown) => messageOf(one)))].join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** An operator has cancelled the work. `hard`: without a grace period. */
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

/** Exit code and output of the script that failed; empty when no script did. */
export function evidenceOf(error: unknown): NonNullable<FailureOptions['script']> {
  const { exitCode, output } = (error instanceof Failure && error.script) || {};
  return { ...(exitCode === undefined ? {} : { exitCode }), ...(output === undefined ? {} : { output }) };
}

/** The code of an error of the system or of Node.js, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;
