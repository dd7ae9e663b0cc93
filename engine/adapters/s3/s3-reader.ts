// The reading half of the S3 store. Worker threads open this one.

import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { ByteRange, ObjectInfo, ObjectPage, ObjectReader, OpenObject } from '../../ports/object-store.ts';
import { defect, transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import { demandAllowedKey } from '../directory/allowed-key.ts';
import { S3Body } from './s3-body.ts';
import { S3Connection, type S3Options, type S3Parts, textOf } from './s3-connection.ts';
import { s3Code } from './s3-fault.ts';
import {
  type ListingAnswer,
  type ListingPlace,
  listingAnswer,
  listingQuery,
  parseListing,
  placeOf,
  plainTag,
  wholeSeconds,
} from './s3-listing.ts';
import { PageRoom } from './s3-page-room.ts';

/** Reads the bucket; makes no request before it is asked to. */
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
    const answer = await this.#connection.exchange(
      what,
      signal,
      async (exchange, client) => {
        const response = await this.#connection.send(exchange, client, { method: 'HEAD', key, answers: [200, 404] });
        await textOf(response);
        return response;
      },
      true,
    );
    if (answer.statusCode === 200) return infoOf(key, answer, this.#connection.describe(what));
    // An answer without body does not tell a missing object from a missing bucket.
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
    await this.#page('', undefined, new PageRoom(), signal, 1);
  }

  /** While one page is being read and used, the next is under way. */
  async *pages(
    prefix: string,
    { after }: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<ObjectPage, void, undefined> {
    const what = this.#connection.describe(`listing ${JSON.stringify(prefix)}`);
    const start = after === undefined ? undefined : placeOf(after);
    using ahead = new JoinedSignal(signal);
    // A page lies in one while the next comes into the other.
    let [room, spare] = [new PageRoom(), new PageRoom()];
    let coming = this.#page(prefix, start, room, ahead.signal);
    try {
      for (let last = start; ; ) {
        const { xml, next } = await coming;
        if (next !== undefined && next === last)
          throw defect(this.#connection.describe(`listing ${prefix}: the page after ${next} is that page again`));
        last = next;
        const here = room;
        if (next !== undefined) {
          [room, spare] = [spare, room];
          coming = this.#page(prefix, next, room, ahead.signal);
          // Looked at when it is wanted; until then its failure is nobody's.
          coming.catch(() => undefined);
          // A request goes out by itself only once nothing else is to be done, which here is when the page was used.
          await turn();
        }
        signal.throwIfAborted();
        yield parseListing(xml, what, here);
        if (next === undefined) return;
      }
    } finally {
      ahead.abort(new Error('the listing is not wanted any more'));
    }
  }

  #page(
    prefix: string,
    after: ListingPlace | undefined,
    room: PageRoom,
    signal: AbortSignal,
    keys?: number,
  ): Promise<ListingAnswer> {
    const what = `listing ${JSON.stringify(prefix)}`;
    return this.#connection.exchange(
      what,
      signal,
      async (exchange, client) => {
        const response = await this.#connection.query(exchange, client, listingQuery(prefix, after, keys));
        return listingAnswer(await room.read(response), this.#connection.describe(what));
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
    return this.#connection.exchange(
      what,
      signal,
      async (exchange, client) => {
        try {
          const request = { method: 'GET', key, headers, answers: [range ? 206 : 200] } as const;
          const response = await this.#connection.send(exchange, client, request);
          exchange.handOn();
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

/** From the head of an answer. */
function infoOf(key: string, { headers }: IncomingMessage, what: string): ObjectInfo {
  const { etag, 'last-modified': modified, 'content-length': length, 'content-range': part } = headers;
  const size = part === undefined ? Number(length) : Number(part.slice(part.lastIndexOf('/') + 1));
  if (etag === undefined || modified === undefined || !Number.isSafeInteger(size))
    throw transient(`${what}: the answer has no etag, no date or no length`);
  return { key, size, etag: plainTag(etag), modified: wholeSeconds(modified) };
}
