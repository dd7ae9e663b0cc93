// What an error of the S3 store means, in words that name the bucket and what to check. What the store itself says is not
// passed on beyond its code: with a wrong signature it quotes access key and signatures.

import { S3Error } from 'minio';
import { defect, Failure, messageOf, transient } from '../../runtime/failure.ts';
import { codeOf } from '../directory/directory-store-fault.ts';

/** Nobody can use the bucket before an operator has changed something; meanwhile nothing may be lost. */
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
/** By status, where the answer has no code. */
const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  301: 'PermanentRedirect',
  401: 'AccessDenied',
  403: 'AccessDenied',
  507: 'XMinioStorageFull',
};
/** The store asks for patience, or something between us and it found nobody. */
const AWAY_CODES = new Set(['SlowDown', 'ServiceUnavailable', 'RequestTimeout', 'OperationAborted']);
/** Of a stream whose other end went away; other codes of this form tell of bugs. */
const CUT_OFF = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);
const REFUSED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);
const AWAY_STATUS = new Set([408, 429, 502, 503, 504]);

/** The store's code and nothing else of what it said. */
class S3Code extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * @param what was being done to which object where
 * @param status of the last answer; undefined when there was none
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
  // An answer of success may turn into a failure on its way.
  return status === undefined || status >= 500 || status < 300
    ? transient(`${what}: the store failed (${said})`)
    : defect(`${what}: the store refuses it (${said})`);
}

/** The code that an answer of the store carries. */
export function s3Code(error: unknown): string | undefined {
  return error instanceof S3Error && typeof error.code === 'string' && error.code !== '' ? error.code : undefined;
}

/** Errors of sockets, names and certificates have a code of Node's; undefined for any other. */
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
