// The table of errors: status word, HTTP code and body together (docs/contract/installer.md#errors). Any other error becomes a
// 500, and its message never leaves the process.

import { Busy, Failure, type FailureKind, kindOf, type Lack, lackOf } from '../../../engine/runtime/failure.ts';
import { Type } from '../openapi/schema-node.ts';

export const ERROR_CODES = {
  'bad-request': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  'bad-method': 405,
  conflict: 409,
  gone: 410,
  'invalid-input': 422,
  'failed-dependency': 424,
  'too-early': 425,
  'server-error': 500,
} as const;
export type ErrorWord = keyof typeof ERROR_CODES;

/** Faults of an input: general ones, and those of fields by JSON path, such as `contacts[0].email`. */
export interface InputErrors {
  readonly general: readonly string[];
  readonly byKey: Readonly<Record<string, readonly string[]>>;
}

interface HttpErrorOptions {
  /** If the code differs from that of the word: 412, 413, 415, 416, 417, 429, 503. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields of the body. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** A failure with its HTTP response. Its kind follows from the status code. */
export class HttpError extends Failure {
  readonly word: ErrorWord;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(word: ErrorWord, message: string, options: HttpErrorOptions = {}) {
    const code = options.code ?? ERROR_CODES[word];
    super(kindOfCode(code), message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'HttpError';
    this.word = word;
    this.code = code;
    this.headers = options.headers ?? {};
    this.extra = options.extra ?? {};
  }
}

export const badRequest = (message: string): HttpError => new HttpError('bad-request', message);
export const unauthorized = (message: string): HttpError =>
  new HttpError('unauthorized', message, { headers: { 'www-authenticate': 'Bearer' } });
export const forbidden = (message: string): HttpError => new HttpError('forbidden', message);
export const notFound = (message: string): HttpError => new HttpError('not-found', message);
export const gone = (message: string): HttpError => new HttpError('gone', message);
export const conflict = (message: string): HttpError => new HttpError('conflict', message);
/** A conflict with another request that will have ended soon, so clients try again. */
export const underWay = (message: string): HttpError =>
  new HttpError('conflict', message, { headers: { 'retry-after': String(UNDER_WAY_SECONDS) } });
export const tooEarly = (message: string): HttpError => new HttpError('too-early', message);
export const invalidInput = (message: string, errors: InputErrors): HttpError =>
  new HttpError('invalid-input', message, { extra: { errors } });
export const failedDependency = (message: string, dependency: string): HttpError =>
  new HttpError('failed-dependency', message, { extra: { dependency } });
export const preconditionFailed = (message: string): HttpError => new HttpError('conflict', message, { code: 412 });
/** 400 and not 413, because the contracts list no other code for it, and deployed clients know none. */
export const tooLarge = badRequest;
export const unsupportedMedia = (message: string): HttpError => new HttpError('bad-request', message, { code: 415 });
export const tooMany = (message: string, retryAfterSeconds: number): HttpError =>
  new HttpError('bad-request', message, { code: 429, headers: { 'retry-after': String(retryAfterSeconds) } });
export const unavailable = (message: string, retryAfterSeconds: number, cause?: unknown): HttpError =>
  new HttpError('server-error', message, {
    code: 503,
    headers: { 'retry-after': String(retryAfterSeconds) },
    ...(cause === undefined ? {} : { cause }),
  });

const RETRY_SECONDS = 5;
const UNDER_WAY_SECONDS = 5;
/** `Retry-After` for a full disk: an operator has to free space first. */
const NO_ROOM_SECONDS = 60;

const LACKS: Readonly<Record<Lack, string>> = {
  room: 'the disk of the service is full; tell its operator, and try again later',
  storage: 'the storage of the service cannot be reached just now; try again',
  database: 'a database of the service cannot be reached just now; try again',
};

/** Maps anything thrown to a response. A transient failure is 503; an unknown error is 500 without details. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Failure && error.kind === 'rejected') return badRequest(error.message);
  if (error instanceof Busy) return unavailable(error.message, error.retryAfterSeconds, error);
  const lack = lackOf(error);
  if (lack === 'room') return unavailable(LACKS.room, NO_ROOM_SECONDS, error);
  if (kindOf(error) === 'transient')
    return unavailable(
      lack ? LACKS[lack] : 'a part of the service cannot be reached just now; try again',
      RETRY_SECONDS,
      error,
    );
  return new HttpError('server-error', 'internal error', { cause: error });
}

function kindOfCode(code: number): FailureKind {
  if (code < 500) return 'rejected';
  return code === 503 ? 'transient' : 'defect';
}

/** The body of an error, with the request's id if the contract requires it. */
export function errorBody(error: HttpError, requestId: string): Record<string, unknown> {
  return {
    status: error.word,
    message: error.message,
    ...(error.word === 'server-error' ? { requestId } : {}),
    ...error.extra,
  };
}

const words = Object.keys(ERROR_CODES) as ErrorWord[];

/** The schema of the body of every error response. */
export const Problem = Type.Named('Problem', {
  status: Type.Enum(words),
  message: Type.String(),
  requestId: Type.Optional(Type.String({ description: 'With status server-error' })),
  dependency: Type.Optional(Type.String({ description: 'With status failed-dependency' })),
  errors: Type.Optional(
    Type.Object(
      {
        general: Type.Array(Type.String()),
        byKey: Type.Record(Type.String(), Type.Array(Type.String())),
      },
      { description: 'With status invalid-input; keys are paths like contacts[0].email' },
    ),
  ),
});
