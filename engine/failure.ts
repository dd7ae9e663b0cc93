// The four kinds of failure. The kind, and nothing else, decides whether a job is tried again, whether a
// message is acknowledged and which HTTP class answers. Never match on a message's text.
//
//   rejected   the user's data or request is at fault; trying again cannot help
//   transient  something outside may be well again later; try again with back-off
//   aborted    we stopped it ourselves (shutdown, lost lease, cancelled request); back to the queue
//   defect     a bug of ours or of a plugin; recorded, not hidden

export type FailureKind = 'rejected' | 'transient' | 'aborted' | 'defect';

export interface FailureOptions {
  readonly cause?: unknown;
  /** A dependency was not reached at all (refused, breaker open): the job waits without using up a try. */
  readonly unreachable?: boolean;
  /** The dependency that was called gave no answer (refused, reset, bad gateway): what its circuit breaker counts. */
  readonly unanswered?: boolean;
  /** Tries in all that it is worth, the first included, when those are fewer than whoever tries again would make. */
  readonly maxTries?: number | undefined;
}

export class Failure extends Error {
  readonly kind: FailureKind;
  readonly unreachable: boolean;
  readonly unanswered: boolean;
  readonly maxTries: number | undefined;

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.kind = kind;
    this.unreachable = options.unreachable ?? false;
    this.unanswered = options.unanswered ?? false;
    this.maxTries = options.maxTries;
  }
}

export const rejected = (message: string, options?: FailureOptions): Failure =>
  new Failure('rejected', message, options);
export const transient = (message: string, options?: FailureOptions): Failure =>
  new Failure('transient', message, options);
export const aborted = (message: string, options?: FailureOptions): Failure => new Failure('aborted', message, options);
export const defect = (message: string, options?: FailureOptions): Failure => new Failure('defect', message, options);

/** The kind of anything thrown. An abort error is `aborted`; whatever is not a {@link Failure} is a `defect`. */
export function kindOf(error: unknown): FailureKind {
  if (error instanceof Failure) return error.kind;
  if (error instanceof Error && error.name === 'AbortError') return 'aborted';
  return 'defect';
}

/** Of a file system, a quota of the system, and PostgreSQL (disk_full). */
const NO_ROOM: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100']);
const DEEPEST_CAUSE = 10;

/** A disk that is full, or a quota of it: whatever was being done, that is why it failed. */
export function hasNoRoom(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < DEEPEST_CAUSE; at = at.cause, depth++)
    if ('code' in at && NO_ROOM.has(at.code)) return true;
  return false;
}

/** What a person should read of anything thrown. */
export function messageOf(error: unknown): string {
  // A name that stands for several addresses fails with the errors of all of them and says nothing itself.
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map((one: unknown) => messageOf(one)))].join('; ');
  return error instanceof Error ? error.message : String(error);
}
