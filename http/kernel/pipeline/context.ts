// One request on its way through a front end: who calls, what was asked, how to answer.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, type ZlibOptions } from 'node:zlib';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { type Tenant, tenantOfGuests, tenantOfUser, type UserId } from '../../../engine/model/ids.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import { type Items, inTurn, startingWith } from '../../../engine/runtime/items.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { Semaphore } from '../../../engine/runtime/semaphore.ts';
import { isKnown, requireMatch, tagOf } from '../answers/conditional.ts';
import { JSON_TYPE, jsonListText } from '../answers/json-text.ts';
import { sendPieces } from '../answers/sending.ts';
import type { Caller } from '../auth/caller.ts';
import { clientAddress, peerOf } from '../server/peer-address.ts';
import type { RequestScope } from '../server/request-scope.ts';
import { forbidden } from './errors.ts';
import { publicUrl, type UrlSettings } from './public-url.ts';
import type { Query } from './query.ts';
import type { Concerned } from './request-audit.ts';

/** Characters of a list that are gathered to make a tag of them. */
const TAGGED_LIST = 256 * 1024;

/** Smaller bodies do not gain from compression. */
const GZIP_FROM_BYTES = 1024;

/** For answers that are made for one caller: a higher level takes longer than it saves. In few, large pieces. */
const GZIP_OPTIONS: ZlibOptions = { level: 1, chunkSize: 64 * 1024 };

const compress: (bytes: Buffer, options: ZlibOptions) => Promise<Buffer> = promisify(gzip);

/** What was asked, once it is understood. */
export interface Asked {
  readonly caller: Caller;
  readonly version: ApiVersion;
  /** The request says which version it wants. */
  readonly versionNamed: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** Of all answers of a listener. */
export interface SharedByAnswers {
  readonly url: UrlSettings;
  /** For lists that are being made. */
  readonly lists: Semaphore;
}

export class RequestContext {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly version: ApiVersion;
  /** The request names its version. Clients that name none are older than some words of ours. */
  readonly versionNamed: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly #exchange: RequestScope;
  readonly #shared: SharedByAnswers;

  constructor(
    exchange: RequestScope,
    shared: SharedByAnswers,
    { caller, version, versionNamed, params, query }: Asked,
  ) {
    this.id = exchange.id;
    this.request = exchange.request;
    this.caller = caller;
    this.version = version;
    this.versionNamed = versionNamed;
    this.params = params;
    this.query = query;
    this.#exchange = exchange;
    this.#shared = shared;
  }

  /** For those who set headers or write themselves. */
  get response(): ServerResponse {
    return this.#exchange.response;
  }

  /** Base URL as the caller sees the service, without trailing slash. */
  get publicUrl(): string {
    return publicUrl(this.request, this.#shared.url);
  }

  /** Aborts when the client goes away or the server gives the request up. */
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get log(): Logger {
    return this.#exchange.log;
  }

  /** For whoever works for this request: of the caller's trace, or of a new one. */
  get traceparent(): Traceparent {
    return this.#exchange.traceparent;
  }

  /** A path parameter that the route's pattern has. */
  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The user or guest; a route that lets others in must ask for `caller` itself. */
  get userId(): UserId {
    if (this.caller.kind === 'user' || this.caller.kind === 'guest') return this.caller.userId;
    throw forbidden('this needs a user');
  }

  /** Whose share of a queue counts what is asked for. */
  get tenant(): Tenant {
    if (this.caller.kind === 'user') return tenantOfUser(this.caller.userId);
    return tenantOfGuests(peerOf(clientAddress(this.request, this.#shared.url.isProxy)));
  }

  /** For the row of this request in the audit trail. */
  concerns(concerned: Concerned): void {
    this.#exchange.concerned = { ...this.#exchange.concerned, ...concerned };
  }

  get wantsBody(): boolean {
    return this.request.method !== 'HEAD';
  }

  /**
   * Answers with JSON; user ids above 2^53 are written digit by digit. With an `etag` among the headers, a client that
   * has this version already gets 304.
   */
  async json(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { etag } = headers;
    if (etag !== undefined && this.#isKnown(etag)) return this.empty(304, headers);
    return this.#jsonText(code, stringifyJson(body), headers);
  }

  async #jsonText(code: number, text: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const plain = Buffer.from(text);
    const isPacked = plain.length >= GZIP_FROM_BYTES && this.#acceptsGzip;
    const bytes = isPacked ? await compress(plain, GZIP_OPTIONS) : plain;
    this.#head(code, {
      'content-type': JSON_TYPE,
      'content-length': String(bytes.length),
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
      // What has a tag may be kept, as long as it is asked for anew each time.
      'cache-control': headers.etag === undefined ? 'no-store' : 'private, no-cache',
      ...headers,
    });
    this.response.end(this.wantsBody ? bytes : undefined);
  }

  /** Like {@link json}, under a tag made of the content. */
  async taggedJson(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.json(code, body, { ...headers, etag: tagOf(stringifyJson(body)) });
  }

  /** 412 when the request has an `If-Match` that does not list the tag. */
  requireMatch(etag: string): void {
    requireMatch(this.request.headers, { etag });
  }

  /**
   * Answers with a JSON array. One of up to 256 Ki characters goes out whole, under a tag made of its content. A longer
   * one has none: it goes out item by item with back-pressure, and a failure after its beginning cuts it off.
   */
  async jsonList(items: AsyncIterable<unknown>): Promise<void> {
    const pieces = this.inTurn(jsonListText(items));
    const first: string[] = [];
    let length = 0;
    for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) {
      first.push(piece.value);
      length += piece.value.length;
      if (length <= TAGGED_LIST) continue;
      const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' };
      return this.textStream(headers, startingWith(first, pieces));
    }
    const text = first.join('');
    const headers = { etag: tagOf(text) };
    if (this.#isKnown(headers.etag)) return this.empty(304, headers);
    return this.#jsonText(200, text, headers);
  }

  /**
   * For text that is made of what a database returns: only a few answers are made at a time, piece by piece, and callers
   * share these places. While a piece is made, its rows are in memory several times. A finished piece holds no place.
   */
  inTurn(pieces: AsyncIterable<string>): Items<string> {
    return inTurn(this.#shared.lists, this.tenant, pieces, this.signal);
  }

  /** Answers 200 with text piece by piece, under the same rules. The pieces are iterated to their end or returned. */
  async textStream(headers: Readonly<Record<string, string>>, pieces: AsyncIterable<string>): Promise<void> {
    const iterator = pieces[Symbol.asyncIterator]();
    const begin = await piecesBegun(iterator);
    this.#head(200, headers);
    if (!this.wantsBody) {
      await iterator.return?.();
      this.response.end();
      return;
    }
    const source = startingWith(begin, iterator);
    if (!this.#acceptsGzip) return sendPieces(source, this.response, this.signal);
    this.response.setHeader('content-encoding', 'gzip');
    // As it is, not as a stream: that would read a piece ahead, and a list has pieces as large as its items.
    return pipeline(source, createGzip(GZIP_OPTIONS), this.response, { signal: this.signal });
  }

  empty(code: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#head(code, headers);
    if (code !== 204 && code !== 304) this.response.setHeader('content-length', 0);
    this.response.end();
  }

  /** @param body bytes are sent as they are, without a copy for each who asks */
  text(code: number, contentType: string, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#head(code, { 'content-type': contentType, 'content-length': String(bytes.length) });
    this.response.end(this.wantsBody ? bytes : undefined);
  }

  #isKnown(etag: string): boolean {
    const { method, headers } = this.request;
    return (method === 'GET' || method === 'HEAD') && isKnown(headers, { etag });
  }

  get #acceptsGzip(): boolean {
    return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(this.request.headers['accept-encoding'] ?? ''));
  }

  #head(code: number, headers: Readonly<Record<string, string>>): void {
    this.response.statusCode = code;
    // Where other origins may call, it says so already.
    if (!this.response.hasHeader('vary')) this.response.setHeader('vary', 'accept-encoding');
    for (const name in headers) this.response.setHeader(name, headers[name] ?? '');
  }
}

/** The first piece, if there is one. */
async function piecesBegun(iterator: AsyncIterator<string>): Promise<string[]> {
  const first = await iterator.next();
  return first.done ? [] : [first.value];
}
