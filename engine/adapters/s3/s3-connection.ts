// A bucket of an S3 store (Amazon S3, MinIO, Ceph), accessed with the `minio` client. The client signs requests, finds the
// region, and builds path-style or virtual-host addresses. We do not use its methods that buffer whole objects or retry on
// their own. We send one request at a time through an S3 call (s3-call.ts) and stream the bodies.

import { Agent, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { Client } from 'minio';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { S3_TIMES, S3Call, type S3Times, s3Transport } from './s3-call.ts';
import { s3Fault } from './s3-fault.ts';

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

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  /** URL-encoded. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The expected HTTP statuses. Any other status is an error. */
  readonly answers: readonly number[];
}

/** The body of a request. `chunks` is called once. */
export interface S3Payload {
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
