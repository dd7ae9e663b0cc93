// What is recorded of a request, so that one can later see who did what: never a secret, never the content of a file.

/** Why the request was recorded. */
export const AUDIT_KINDS = ['change', 'download', 'admin-read', 'refusal'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/**
 *   anonymous  no token, or one that was refused     guest, user  by their tokens
 *   operator, observer  people whose token says so   machine      holds a token that the configuration names
 */
export const AUDIT_ACTORS = ['anonymous', 'guest', 'user', 'operator', 'observer', 'machine'] as const;
type AuditActorKind = (typeof AUDIT_ACTORS)[number];

/**
 *   done      answered below 400      refused  401, 403, or a token that was not even looked at (429)
 *   rejected  any other 4xx           failed   5xx
 *   cut       the connection ended before the response was sent
 */
export const AUDIT_OUTCOMES = ['done', 'refused', 'rejected', 'failed', 'cut'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export interface AuditActor {
  readonly kind: AuditActorKind;
  /** A user's id, or the name of the machine's token; absent for anonymous. */
  readonly id?: string;
}

export interface AuditRow {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: AuditKind;
  readonly actor: AuditActor;
  /** IP address, or the network whose refusals are counted together. */
  readonly address: string;
  /** The front end that was called. */
  readonly service: string;
  readonly method: string;
  /** The route's pattern, never the URL, because its query may hold a token. */
  readonly route: string;
  readonly dataset?: string;
  /** The path parameters, by name. */
  readonly records: Readonly<Record<string, string>>;
  readonly outcome: AuditOutcome;
  /** HTTP status; absent when there was no answer. */
  readonly status?: number;
  /** How many similar requests this row represents. */
  readonly count: number;
  /** Id of the request, or of the first one counted. */
  readonly request: string;
}

/** A row's position in time order: newer rows have higher ones. */
export interface AuditPlace {
  readonly at: number;
  readonly number: number;
}

/** A row as it is stored. */
export interface AuditEntry extends AuditRow {
  readonly number: number;
}

/** The outcome of a response to an authorized caller. */
export function outcomeOf(status: number): AuditOutcome {
  if (status < 400) return 'done';
  if (status === 401 || status === 403) return 'refused';
  return status < 500 ? 'rejected' : 'failed';
}
