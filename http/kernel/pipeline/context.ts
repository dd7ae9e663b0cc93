// What a handler gets for a request: the caller, the checked parameters, and methods that send the response.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, type ZlibOptions } from 'node:zlib';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { type Tenant, tenantOfGuests, tenantOfUser, type UserId } from '../../../engine/model/ids.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import type { StoredAnswer } from '../../../engine/ports/idempotency-keys.ts';
import { defect } from '../../../engine/runtime/failure.ts';
import { type Items, inTurn, startingWith } from '../../../engine/runtime/items.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { Semaphore } from '../../../engine/runtime/semaphore.ts';
import { accepts } from '../answers/content-encoding.ts';
import { isKnown, requireMatch, tagOf } from '../answers/download.ts';
import { JSON_TYPE, jsonListText } from '../answers/json-text.ts';
import { sendPieces } from '../answers/sending.ts';
import type { Caller } from '../auth/authenticate.ts';
import { clientAddress, peerOf } from '../server/peer-address.ts';
import type { RequestScope } from '../server/request-scope.ts';
import { forbidden } from './errors.ts';
import type { Fingerprint } from './fingerprint.ts';
import {
  type Created,
  type IdempotentRequests,
  type KeyedRequest,
  REPLAYED_HEADER,
  storedAnswer,
} from './idempotency.ts';
import type { Query } from './query.ts';
import type { Concerned } from './request-audit.ts';
import { publicUrl, type UrlSettings } from './request-head.ts';

/** Most characters of a list that is sent as a whole, with a tag. */
const TAGGED_LIST = 256 * 1024;

/** Smaller bodies are not compressed, because it would not help. */
const GZIP_FROM_BYTES = 1024;

/**
 * Responses are compressed for one caller, so a higher level would take longer than it saves. Large chunks, so there are few.
 */
const GZIP_OPTIONS: ZlibOptions = { level: 1, chunkSize: 64 * 1024 };

const compress: (bytes: Buffer, options: ZlibOptions) => Promise<Buffer> = promisify(gzip);

/** The parsed and checked request. */
interface Asked {
  readonly caller: Caller;
  readonly version: ApiVersion;
  /** True when the request names its version. */
  readonly versionNamed: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Of the header Idempotency-Key, on a route that takes one. */
  readonly key: string | undefined;
}

/** Shared by all responses of a listener. */
export interface SharedByAnswers {
  readonly url: UrlSettings;
  /** Limits the lists that are read at the same time. */
  readonly lists: Semaphore;
  /** Aborts when the listener begins to stop. */
  readonly draining: AbortSignal;
  /** Undefined on a listener without routes that take a key. */
  readonly idempotent: IdempotentRequests | undefined;
}

export class RequestContext {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly version: ApiVersion;
  /** True when the request names its version. Clients that name none may not know our newer status values. */
  readonly versionNamed: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly #scope: RequestScope;
  readonly #shared: SharedByAnswers;
  readonly #key: string | undefined;

  constructor(scope: RequestScope, shared: SharedByAnswers, asked: Asked) {
    const { caller, version, versionNamed, params, query, key } = asked;
    this.id = scope.id;
    this.request = scope.request;
    this.caller = caller;
    this.version = version;
    this.versionNamed = versionNamed;
    this.params = params;
    this.query = query;
    this.#scope = scope;
    this.#shared = shared;
    this.#key = key;
  }

  /** For handlers that set headers or write the body themselves. */
  get response(): ServerResponse {
    return this.#scope.response;
  }

  /** Base URL under which the caller reaches the service, without trailing slash. */
  get publicUrl(): string {
    return publicUrl(this.request, this.#shared.url);
  }

  /** Aborts when the client disconnects or the server gives up. */
  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  /** Aborts when the listener begins to stop: responses that last have to end now. */
  get draining(): AbortSignal {
    return this.#shared.draining;
  }

  get log(): Logger {
    return this.#scope.log;
  }

  /** The trace context for calls on behalf of this request: in the caller's trace, or in a new one. */
  get traceparent(): Traceparent {
    return this.#scope.traceparent;
  }

  /** A path parameter of the route's pattern. */
  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The id of the user or guest. Throws 403 for other callers; routes that admit them must use `caller`. */
  get userId(): UserId {
    if (this.caller.kind === 'user' || this.caller.kind === 'guest') return this.caller.userId;
    throw forbidden('this needs a user');
  }

  /** The tenant whose share of a queue this request counts against. */
  get tenant(): Tenant {
    if (this.caller.kind === 'user') return tenantOfUser(this.caller.userId);
    return tenantOfGuests(peerOf(clientAddress(this.request, this.#shared.url.isProxy)));
  }

  /** Adds fields to the row of this request in the audit trail. */
  concerns(concerned: Concerned): void {
    this.#scope.concerned = { ...this.#scope.concerned, ...concerned };
  }

  get wantsBody(): boolean {
    return this.request.method !== 'HEAD';
  }

  /**
   * Sends JSON. User ids above 2^53 keep all their digits. If `headers` has an `etag`, a client that already has this version
   * gets 304.
   */
  async json(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { etag } = headers;
    if (etag !== undefined && this.#isKnown(etag)) return this.empty(304, headers);
    return this.#jsonText(code, stringifyJson(body), headers);
  }

  async #jsonText(code: number, text: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const plain = Buffer.from(text);
    const isPacked = plain.length >= GZIP_FROM_BYTES && accepts(this.request, 'gzip');
    const bytes = isPacked ? await compress(plain, GZIP_OPTIONS) : plain;
    this.#head(code, {
      'content-type': JSON_TYPE,
      'content-length': String(bytes.length),
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
      // A response with a tag may be cached if the client revalidates it each time.
      'cache-control': headers.etag === undefined ? 'no-store' : 'private, no-cache',
      ...headers,
    });
    this.response.end(this.wantsBody ? bytes : undefined);
  }

  /** Throws 412 when the request has an `If-Match` that does not list the tag. */
  requireMatch(etag: string): void {
    requireMatch(this.request.headers, { etag });
  }

  /**
   * Sends a JSON array. Up to 256 Ki characters are sent as a whole, with a tag that is computed from the content and the
   * headers. A longer array is streamed with back-pressure and without a tag, and a failure in the middle cuts it off.
   */
  async jsonList(items: AsyncIterable<unknown>, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const pieces = this.inTurn(jsonListText(items));
    const first: string[] = [];
    let length = 0;
    for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) {
      first.push(piece.value);
      length += piece.value.length;
      if (length <= TAGGED_LIST) continue;
      const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-store', ...more };
      return this.textStream(headers, startingWith(first, pieces));
    }
    const text = first.join('');
    const headers = { etag: tagOf([text, ...Object.values(more)].join('\n')), ...more };
    if (this.#isKnown(headers.etag)) return this.empty(304, headers);
    return this.#jsonText(200, text, headers);
  }

  /**
   * For text that is built from database rows: callers share a few places, and a place is needed to build a piece. While a
   * piece is built, its rows are in memory several times. A finished piece holds no place.
   */
  inTurn(pieces: AsyncIterable<string>): Items<string> {
    return inTurn(this.#shared.lists, this.tenant, pieces, this.signal);
  }

  /** Sends a 200 with text in pieces, under the same rules. The pieces are iterated to their end, or `return` is called. */
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
    if (!accepts(this.request, 'gzip')) return sendPieces(source, this.response, this.signal);
    this.response.setHeader('content-encoding', 'gzip');
    // We pass the iterator and not a stream, because a stream would read ahead, and a piece may be as large as an item.
    return pipeline(source, createGzip(GZIP_OPTIONS), this.response, { signal: this.signal });
  }

  /**
   * Creates something and answers with it. With a key, that happens once: a repetition gets the same answer.
   * @param read reads the body of a repetition, for its fingerprint only
   * @param create reads the body, and adds the same to the fingerprint
   */
  async once(
    read: (print: Fingerprint) => Promise<void>,
    create: (keyed: KeyedRequest | undefined) => Promise<Created>,
  ): Promise<void> {
    const key = this.#key;
    if (key === undefined) return this.#created(storedAnswer(await create(undefined)));
    const { idempotent } = this.#shared;
    const operation = this.#scope.route?.operationId;
    if (!idempotent || operation === undefined) throw defect(`no keys are kept for ${operation}`);
    const { id: holder, caller, params, signal } = this;
    const request = { operation, key, holder, caller, params };
    const { answer, replayed } = await idempotent.once(request, { read, create }, signal);
    if (replayed) this.concerns({ records: { replayOf: key } });
    return this.#created(answer, replayed ? { [REPLAYED_HEADER]: 'true' } : {});
  }

  /** {@link once}, for a body that was read. */
  onceFor(body: unknown, create: (keyed: KeyedRequest | undefined) => Promise<Created>): Promise<void> {
    const read = async (print: Fingerprint): Promise<void> => print.document('body', body);
    return this.once(read, async (keyed) => {
      if (keyed) await read(keyed.print);
      return create(keyed);
    });
  }

  async #created(answer: StoredAnswer, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const { code, body, path, headers } = answer;
    const location = path === undefined ? {} : { location: `${this.publicUrl}${path}` };
    const all = { ...location, ...headers, ...more };
    if (body === undefined) this.empty(code, all);
    else await this.#jsonText(code, body, all);
  }

  empty(code: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#head(code, headers);
    if (code !== 204 && code !== 304) this.response.setHeader('content-length', 0);
    this.response.end();
  }

  /** @param body bytes are sent without a copy for each request */
  text(code: number, contentType: string, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#head(code, { 'content-type': contentType, 'content-length': String(bytes.length) });
    this.response.end(this.wantsBody ? bytes : undefined);
  }

  #isKnown(etag: string): boolean {
    const { method, headers } = this.request;
    return (method === 'GET' || method === 'HEAD') && isKnown(headers, { etag });
  }

  #head(code: number, headers: Readonly<Record<string, string>>): void {
    this.response.statusCode = code;
    // With CORS, the header is already set.
    if (!this.response.hasHeader('vary')) this.response.setHeader('vary', 'accept-encoding');
    for (const name in headers) this.response.setHeader(name, headers[name] ?? '');
  }
}

/** Reads the first piece, if there is one. */
async function piecesBegun(iterator: AsyncIterator<string>): Promise<string[]> {
  const first = await iterator.next();
  return first.done ? [] : [first.value];
}
