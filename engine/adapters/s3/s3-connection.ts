// A bucket of an S3 store (Amazon S3, MinIO, Ceph), accessed with the `minio` client. The client signs requests, finds the
// region, and builds path-style or virtual-host addresses. We do not use its methods that buffer whole objects or retry on
// their own. We send one request at a time through an S3 call (s3-call.ts) and stream the bodies.

import { Agent, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { Client, S3Error } from 'minio';
import { codeOf, defect, Failure, messageOf, transient } from '../../runtime/failure.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { S3_TIMES, S3Call, type S3Times, s3Transport } from './s3-call.ts';

/** Plain data, because it is sent to worker threads. */
export interface S3Options {
  readonly host: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Undefined: plain HTTP. `ca` is in PEM format and replaces the system's certificate authorities. */
  readonly tls: { readonly ca?: string; readonly rejectUnauthorized: boolean } | undefined;
  /** Undefined: we ask the store for its region. */
  readonly region: string | undefined;
  /** False: the bucket is part of the host name (virtual-host style). */
  readonly pathStyle: boolean;
}

export interface S3Parts {
  readonly clock?: Clock;
  readonly times?: S3Times;
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  /** URL-encoded. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The expected HTTP statuses. Any other status is an error. */
  readonly answers: readonly number[];
}

/** The body of a request. `chunks` is called once. */
interface S3Payload {
  readonly bytes: number;
  readonly chunks: (call: S3Call) => AsyncIterable<Buffer>;
}

/** Idle timeout of kept connections. Shorter than what servers allow, so that we close first. */
const KEPT_MS = 4_000;

export class S3Connection implements Disposable {
  readonly bucket: string;
  readonly clock: Clock;
  readonly times: S3Times;
  readonly #where: string;
  readonly #agent: Agent;
  readonly #client: Client;

  constructor(options: S3Options, { clock = systemClock, times = S3_TIMES }: S3Parts = {}) {
    const { host, port, bucket, tls, region, pathStyle, accessKey, secretKey } = options;
    this.bucket = bucket;
    this.clock = clock;
    this.times = times;
    this.#where = `object store ${host}:${port}, bucket ${bucket}`;
    const kept = { keepAlive: true, timeout: KEPT_MS, scheduling: 'lifo' } as const;
    this.#agent = tls ? new TlsAgent({ ...kept, minVersion: 'TLSv1.2', ...tls }) : new Agent(kept);
    this.#client = new Client({
      endPoint: host,
      port,
      useSSL: tls !== undefined,
      accessKey,
      secretKey,
      pathStyle,
      transport: s3Transport,
      transportAgent: this.#agent,
      retryOptions: { disableRetry: true },
      ...(region === undefined ? {} : { region }),
    });
    // Without TLS the client requires the SHA-256 of a body before it is sent. For our streams it is known only at their end.
    this.#client.enableSHA256 = false;
  }

  /** Names the store, the bucket and the operation; for failure messages. */
  describe(what: string): string {
    return `${this.#where}: ${what}`;
  }

  /**
   * Runs `work` as one S3 call, which ends at the signal or at a deadline. Its errors are mapped by {@link s3Fault}. A
   * `repeatable` call is retried once when the server had closed the idle connection that it used.
   */
  async call<T>(
    what: string,
    signal: AbortSignal,
    work: (call: S3Call, client: Client) => Promise<T>,
    repeatable = false,
  ): Promise<T> {
    const described = this.describe(what);
    using call = new S3Call({ what: described, times: this.times, clock: this.clock }, signal);
    try {
      return await call.run(async () => {
        // We store the region because the client forgets it after any error.
        this.#client.region ??= await this.#client.getBucketRegionAsync(this.bucket);
        return await work(call, this.#client);
      });
    } catch (error) {
      if (repeatable && call.wasStale && !signal.aborted) return await this.call(what, signal, work);
      throw call.fault ?? s3Fault(error, described, call.status);
    }
  }

  /** Sends a request within a call. The caller must read the response body. */
  async send(call: S3Call, client: Client, request: S3Request, payload?: S3Payload): Promise<IncomingMessage> {
    const { method, key, query, headers = {}, answers } = request;
    return await client.makeRequestStreamAsync(
      {
        method,
        bucketName: this.bucket,
        headers: { ...headers, ...(payload ? { 'content-length': String(payload.bytes) } : {}) },
        ...(key === undefined ? {} : { objectName: key }),
        ...(query === undefined ? {} : { query }),
      },
      payload ? Readable.from(payload.chunks(call), { objectMode: false }) : '',
      '',
      [...answers],
      client.region ?? '',
    );
  }

  /**
   * Sends a bucket query. The caller must read the response body. We retry once when the store responds with an error, so that
   * a listing of thousands of pages does not fail because the store was busy for one of them.
   */
  async query(call: S3Call, client: Client, query: string): Promise<IncomingMessage> {
    const request = { method: 'GET', query, answers: [200] } as const;
    try {
      return await this.send(call, client, request);
    } catch (error) {
      if (call.fault !== undefined || call.status === undefined) throw error;
      return await this.send(call, client, request);
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Reads a response body as text. For small bodies only, because it is buffered. */
export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

// Maps errors of the S3 store to failures whose messages name the bucket and the settings to check. Of the store's own
// message we keep only the error code: after a wrong signature, the message contains the access key and signatures.

/** Errors that an operator has to fix. They count as transient, so that no job is given up in the meantime. */
const OPERATOR_FIXES: Readonly<Record<string, string>> = {
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
  XMinioAdminBucketQuotaExceeded: 'the quota of the bucket is used up',
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
  const operatorFix = code === undefined ? undefined : OPERATOR_FIXES[code];
  if (code !== undefined && operatorFix !== undefined)
    return away(`${what}: ${operatorFix} (${code})`, new S3Code(code));
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
    ? transient(`${what}: the store failed (${said})`, { lack: 'storage' })
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
  transient(message, {
    unreachable: true,
    unanswered: true,
    lack: 'storage',
    ...(cause === undefined ? {} : { cause }),
  });
