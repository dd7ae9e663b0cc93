// Maps errors of the S3 store to failures whose messages name the bucket and the settings to check. Of the store's own
// message we keep only the error code: after a wrong signature, the message contains the access key and signatures.

import { S3Error } from 'minio';
import { defect, Failure, messageOf, transient } from '../../runtime/failure.ts';
import { codeOf } from '../directory/directory-store-fault.ts';

/** Errors that an operator has to fix. They count as transient, so that no job is given up in the meantime. */
const TO_MEND: Readonly<Record<string, string>> = {
  AccessDenied: 'it refuses access; check that the user of accessToken may read, write, remove and list there',
  AccountProblem: 'it refuses the account of accessToken',
  AllAccessDisabled: 'it refuses all access',
  AuthorizationHeaderMalformed: 'it is in another region; set region',
  InvalidAccessKeyId: 'it does not know accessToken; check accessToken and secretKey',
  NoSuchBucket: 'there is no such bucket; make it, or check bucketName',
  PermanentRedirect: 'the bucket is elsewhere; check server and region',
  QuotaExceeded: 'its quota is used up',
  RequestTimeTooSkewed: 'its clock and that of this machine differ by too much',
  SignatureDoesNotMatch: 'it refuses secretKey; check accessToken and secretKey',
  XMinioStorageFull: 'it is full',
};
/** Used when a response has no error code. */
const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  301: 'PermanentRedirect',
  401: 'AccessDenied',
  403: 'AccessDenied',
  507: 'XMinioStorageFull',
};
/** The store is overloaded, or a proxy cannot reach it. */
const AWAY_CODES = new Set(['SlowDown', 'ServiceUnavailable', 'RequestTimeout', 'OperationAborted']);
/** Node's codes for a stream whose other end closed. Other `ERR_` codes indicate bugs. */
const CUT_OFF = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);
const REFUSED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);
const AWAY_STATUS = new Set([408, 429, 502, 503, 504]);

/** Holds the store's error code without its message. */
class S3Code extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * @param what the operation, the object, the bucket and the store
 * @param status of the last response; undefined when there was none
 */
export function s3Fault(error: unknown, what: string, status: number | undefined): unknown {
  if (error instanceof Failure) return error;
  const code = s3Code(error) ?? (status === undefined ? undefined : CODE_OF_STATUS[status]);
  const toMend = code === undefined ? undefined : TO_MEND[code];
  if (code !== undefined && toMend !== undefined) return away(`${what}: ${toMend} (${code})`, new S3Code(code));
  if (AWAY_CODES.has(code ?? '') || (status !== undefined && AWAY_STATUS.has(status)))
    return away(`${what}: the store is busy or away (${code ?? `HTTP ${status}`})`);
  if (status === 404 && code === undefined) return away(`${what}: it answered 404 as no S3 store does; check server`);
  if (!(error instanceof S3Error)) {
    const network = networkFault(error, what);
    if (network) return network;
    if (status === undefined || status < 500) return defect(`${what}: ${messageOf(error)}`, { cause: error });
  }
  const said = code ?? `HTTP ${status}`;
  // A response that starts with a success status may still report an error in its body, or be cut off.
  return status === undefined || status >= 500 || status < 300
    ? transient(`${what}: the store failed (${said})`)
    : defect(`${what}: the store refuses it (${said})`);
}

/** The error code of a store's response. */
export function s3Code(error: unknown): string | undefined {
  return error instanceof S3Error && typeof error.code === 'string' && error.code !== '' ? error.code : undefined;
}

/** Maps errors of sockets, DNS and certificates, which have one of Node's error codes. Undefined for other errors. */
function networkFault(error: unknown, what: string): Failure | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  if (/CERT|SIGNED|ISSUER|VERIFY/.test(code))
    return away(
      `${what}: its certificate is not trusted (${code}); check tlsOptions.caFile and the name of server`,
      error,
    );
  if (code === 'EPROTO' || code.startsWith('ERR_SSL'))
    return away(`${what}: it does not speak TLS as asked (${code}); check https and the port of server`, error);
  if (code.startsWith('ERR_') && !CUT_OFF.has(code)) return undefined;
  if (code.startsWith('HPE_')) return away(`${what}: its answer is no HTTP (${code}); check https and server`);
  return away(`${what}: ${REFUSED.has(code) ? 'not reached' : 'cut off'} (${code})`, error);
}

const away = (message: string, cause?: unknown): Failure =>
  transient(message, { unreachable: true, unanswered: true, ...(cause === undefined ? {} : { cause }) });
