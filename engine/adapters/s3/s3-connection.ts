// The bucket of an S3 store (Amazon's, MinIO, Ceph) over the `minio` client, which signs requests, finds the region and
// knows path style from virtual hosts. What it holds whole in memory or repeats by itself is not used: requests go out one
// by one through calls (s3-call.ts), bodies as streams.

import { Agent, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { Client } from 'minio';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { S3_TIMES, S3Call, type S3Times, s3Transport } from './s3-call.ts';
import { s3Fault } from './s3-fault.ts';

/** Plain data: it goes to threads. */
export interface S3Options {
  readonly host: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Undefined: plain HTTP. `ca` is PEM, instead of the system's authorities. */
  readonly tls: { readonly ca?: string; readonly rejectUnauthorized: boolean } | undefined;
  /** Undefined: the store is asked for it. */
  readonly region: string | undefined;
  /** False: the bucket is part of the host's name. */
  readonly pathStyle: boolean;
}

export interface S3Parts {
  readonly clock?: Clock;
  readonly times?: S3Times;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  /** Encoded. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are an answer; any other is a fault. */
  readonly answers: readonly number[];
}

/** What goes out with a request. Asked for once. */
export interface S3Payload {
  readonly bytes: number;
  readonly chunks: (call: S3Call) => AsyncIterable<Buffer>;
}

/** Idle connections: below what servers allow, so that ours is the end that closes. */
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
    // Payloads are streams whose hash is known only at their end, also without TLS.
    this.#client.enableSHA256 = false;
  }

  /** Its place and what is done there, for failures. */
  describe(what: string): string {
    return `${this.#where}: ${what}`;
  }

  /**
   * Works with the client under the signal and the deadlines; a fault is one of ours. `repeatable`: once more when the
   * connection turned out to have been closed while nobody used it.
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
        // Kept: the client forgets what it found after any error.
        this.#client.region ??= await this.#client.getBucketRegionAsync(this.bucket);
        return await work(call, this.#client);
      });
    } catch (error) {
      if (repeatable && call.wasStale && !signal.aborted) return await this.call(what, signal, work);
      throw call.fault ?? s3Fault(error, described, call.status);
    }
  }

  /** Sends a request within a call; the answer's body is the caller's to read. */
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
   * Asks the bucket something; the answer's body is the caller's to read. A refusal is tried once more: a listing of
   * thousands of pages should not fail because the store was busy for one of them.
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

/** The body of an answer that is small by nature, as text. */
export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
