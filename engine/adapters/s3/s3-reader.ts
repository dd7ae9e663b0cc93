// The read operations of the S3 store. Worker threads open only these.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { demandAllowedKey, mayBeginKey } from '../../model/object-key.ts';
import type { ByteRange, ObjectInfo, ObjectReader, OpenObject } from '../../ports/object-store.ts';
import { defect, transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';
import { S3Connection, type S3Options, type S3Parts, s3Code, s3Fault, textOf } from './s3-connection.ts';
import {
  type ListingPage,
  type ListingPlace,
  listingQuery,
  parseListing,
  placeOf,
  plainTag,
  wholeSeconds,
} from './s3-listing.ts';

/** Opens a reader of the bucket. Makes no request. */
export function openS3Reader(options: S3Options, parts: S3Parts = {}): ObjectReader & Disposable {
  const connection = new S3Connection(options, parts);
  const reader = new S3Reader(connection);
  return {
    get: (key, range, signal) => reader.get(key, range, signal),
    head: (key, signal) => reader.head(key, signal),
    list: (prefix, page, signal) => reader.list(prefix, page, signal),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

export class S3Reader implements ObjectReader {
  readonly #connection: S3Connection;

  constructor(connection: S3Connection) {
    this.#connection = connection;
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<OpenObject | undefined> {
    demandAllowedKey(key);
    const what = `reading ${key}`;
    const response = await this.#open(what, key, range, signal);
    if (!response) return undefined;
    const { clock, times } = this.#connection;
    const described = this.#connection.describe(what);
    const body = new S3Body(response, { what: described, idleMs: times.idleMs, clock }, signal);
    try {
      return { info: infoOf(key, response, described), body };
    } catch (error) {
      body.destroy();
      throw error;
    }
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined> {
    demandAllowedKey(key);
    const what = `reading ${key}`;
    const answer = await this.#connection.call(
      what,
      signal,
      async (call, client) => {
        const response = await this.#connection.send(call, client, { method: 'HEAD', key, answers: [200, 404] });
        await textOf(response);
        return response;
      },
      true,
    );
    if (answer.statusCode === 200) return infoOf(key, answer, this.#connection.describe(what));
    // The response to a HEAD has no body, so a 404 may also mean that the bucket is missing. A GET shows which it is.
    const opened = await this.get(key, undefined, signal);
    opened?.body.destroy();
    return opened?.info;
  }

  async *list(
    prefix: string,
    { after }: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<ObjectInfo, void, undefined> {
    for await (const objects of this.pages(prefix, after === undefined ? {} : { after }, signal)) {
      for (const object of objects) {
        signal.throwIfAborted();
        yield object;
      }
    }
  }

  /** Fails unless the bucket can be listed. */
  async probe(signal: AbortSignal): Promise<void> {
    await this.#page('', undefined, signal, 1);
  }

  async *pages(
    prefix: string,
    { after }: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<readonly ObjectInfo[], void, undefined> {
    // MinIO refuses to list it.
    if (!mayBeginKey(prefix)) return;
    for (let place = after === undefined ? undefined : placeOf(after); ; ) {
      const { objects, next } = await this.#page(prefix, place, signal);
      if (next !== undefined && next === place)
        throw defect(this.#connection.describe(`listing ${prefix}: the page after ${next} is that page again`));
      signal.throwIfAborted();
      yield objects;
      if (next === undefined) return;
      place = next;
    }
  }

  #page(prefix: string, after: ListingPlace | undefined, signal: AbortSignal, keys?: number): Promise<ListingPage> {
    const what = `listing ${JSON.stringify(prefix)}`;
    return this.#connection.call(
      what,
      signal,
      async (call, client) => {
        const response = await this.#connection.query(call, client, listingQuery(prefix, after, keys));
        return parseListing(await textOf(response), this.#connection.describe(what));
      },
      true,
    );
  }

  /** Undefined when the bucket has no such object. */
  #open(
    what: string,
    key: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage | undefined> {
    const headers = range ? { range: `bytes=${range.from}-${range.to ?? ''}` } : {};
    return this.#connection.call(
      what,
      signal,
      async (call, client) => {
        try {
          const request = { method: 'GET', key, headers, answers: [range ? 206 : 200] } as const;
          const response = await this.#connection.send(call, client, request);
          call.handOn();
          return response;
        } catch (error) {
          if (s3Code(error) === 'NoSuchKey') return undefined;
          throw error;
        }
      },
      true,
    );
  }
}

/** Object information from response headers. */
function infoOf(key: string, { headers }: IncomingMessage, what: string): ObjectInfo {
  const { etag, 'last-modified': modified, 'content-length': length, 'content-range': part } = headers;
  const size = part === undefined ? Number(length) : Number(part.slice(part.lastIndexOf('/') + 1));
  if (etag === undefined || modified === undefined || !Number.isSafeInteger(size))
    throw transient(`${what}: the answer has no etag, no date or no length`);
  return { key, size, etag: plainTag(etag), modified: wholeSeconds(modified) };
}

// The body of an S3 response as a stream. If the response ends early, stalls or is aborted, the stream fails with the reason.
// A slow reader does not cause a timeout: the deadline runs only while we wait for the store.

interface S3BodyOptions {
  readonly what: string;
  /** Longest time without data from the store. */
  readonly idleMs: number;
  readonly clock: Clock;
}

/** Bytes to read ahead. */
const HELD_BYTES = 256 * 1024;

class S3Body extends Readable {
  readonly #response: IncomingMessage;
  readonly #options: S3BodyOptions;
  readonly #signal: AbortSignal;
  #endWait = (): void => {};

  constructor(response: IncomingMessage, options: S3BodyOptions, signal: AbortSignal) {
    super({ highWaterMark: HELD_BYTES });
    this.#response = response;
    this.#options = options;
    this.#signal = signal;
    // Without a listener, an abort before the first read would crash the process. Later readers still get the error.
    this.on('error', () => {});
    signal.addEventListener('abort', this.#abort, { once: true });
    response.on('error', (error) => this.#cutOff(error));
    response.once('close', () => {
      if (!response.readableEnded) this.#cutOff(new Error('closed before its end'));
    });
    response.on('data', (chunk: Buffer) => {
      this.#endWait();
      if (this.push(chunk)) this.#wait();
      else response.pause();
    });
    response.once('end', () => {
      this.#endWait();
      this.push(null);
    });
    response.pause();
    if (signal.aborted) this.#abort();
    else if (response.destroyed) this.#cutOff(new Error('closed before its end'));
  }

  override _read(): void {
    if (this.#response.readableEnded) return;
    this.#wait();
    this.#response.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#endWait();
    this.#signal.removeEventListener('abort', this.#abort);
    // If the response was read to its end, the connection can be reused. Otherwise we close it.
    if (!this.#response.readableEnded) this.#response.destroy();
    done(error);
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal;
    this.destroy(reason instanceof Error ? reason : new Error(String(reason)));
  };

  #cutOff(error: Error): void {
    const cause = 'code' in error ? error : Object.assign(error, { code: 'ERR_STREAM_PREMATURE_CLOSE' });
    this.destroy(s3Fault(cause, this.#options.what, undefined) as Error);
  }

  #wait(): void {
    this.#endWait();
    const { clock, idleMs, what } = this.#options;
    this.#endWait = clock.after(idleMs, () =>
      this.destroy(
        transient(`${what}: the store sent nothing for ${idleMs} ms`, {
          unreachable: true,
          unanswered: true,
          lack: 'storage',
        }),
      ),
    );
  }
}
