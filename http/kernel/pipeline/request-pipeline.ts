// What every request goes through: id, version, route, caller, query, handler; and one way out for whatever is thrown.

import type { IncomingMessage } from 'node:http';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { DiskRoom } from '../../../engine/ports/storage-room.ts';
import { defect, hasNoRoom, kindOf, messageOf } from '../../../engine/runtime/failure.ts';
import type { Followers } from '../../../engine/runtime/followers.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { Places } from '../../../engine/runtime/places.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { AnswerHead } from '../answers/answer-head.ts';
import { constantHeader, type HeaderLine, headerLine } from '../answers/header-line.ts';
import type { HeldResponse } from '../answers/held-response.ts';
import { HttpDate } from '../answers/http-date.ts';
import { standingHeaders } from '../answers/standing-headers.ts';
import { type AuthSettings, authenticate } from '../auth/authenticate.ts';
import { ANONYMOUS, type Caller } from '../auth/caller.ts';
import { checkServiceToken } from '../auth/service-token.ts';
import { discardBody } from '../bodies/discard-body.ts';
import { Exchange } from '../server/exchange.ts';
import { refuseOddHeads } from '../server/odd-heads.ts';
import { answerError } from './answer-error.ts';
import { namesVersion, VERSION_LINES, versionOf } from './api-version.ts';
import { ANSWERED, RequestContext, type SharedByAnswers } from './context.ts';
import { type CorsSettings, corsHeaders, isForeign, preflightHeaders } from './cors.ts';
import { forbidden, type HttpError, notFound, toHttpError, unavailable } from './errors.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { publicUrl, type UrlSettings } from './public-url.ts';
import { QueryReader } from './query.ts';
import { RequestAudit, type RequestAuditOptions } from './request-audit.ts';
import { RequestIds } from './request-ids.ts';
import { needsRoom, type Route } from './route.ts';
import { type Found, Router } from './router.ts';

export interface PipelineOptions {
  /** One that has method and path of an ops route takes its place. */
  readonly routes: readonly Route[];
  /** Served while draining too: health, readiness, metrics. */
  readonly opsRoutes: readonly Route[];
  readonly auth: AuthSettings;
  readonly cors: CorsSettings;
  readonly url: UrlSettings;
  /** Of requests that name none; 1.8.0 when absent. */
  readonly assumedApiVersion?: ApiVersion | undefined;
  /** Absent = there is always room. */
  readonly room?: DiskRoom | undefined;
  /** The listener speaks TLS. */
  readonly tls: boolean;
  /** With TLS: names below ours have it as well. */
  readonly subDomains?: boolean | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HttpMetrics;
  readonly audit: Omit<RequestAuditOptions, 'clock'>;
}

/** Fewer than our connections to a database, so that other requests can use it while lists are read. */
const LISTS_AT_ONCE = 4;
const DRAINING_RETRY_SECONDS = 10;
const FULL_RETRY_SECONDS = 30;
const CLOSING = constantHeader('connection', 'close');
/** Of a path without a query; nothing is ever added to it. */
const NO_PARAMETERS = new URLSearchParams();

export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #router: Router;
  readonly #query: QueryReader;
  readonly #ids = new RequestIds();
  readonly #date = new HttpDate();
  readonly #audit: RequestAudit;
  readonly #shared: SharedByAnswers;
  readonly #always: ReadonlySet<Route>;
  /** Every route that is served, for tests and documentation. */
  readonly routes: readonly Route[];
  /** Of every answer. */
  readonly standing: readonly HeaderLine[];
  draining = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    const own = new Set(options.routes.map(nameOf));
    const ops = new Set(options.opsRoutes.map(nameOf));
    this.routes = [...options.opsRoutes.filter((route) => !own.has(nameOf(route))), ...options.routes];
    this.#always = new Set(this.routes.filter((route) => ops.has(nameOf(route))));
    this.#router = new Router(this.routes, options.url.basePath);
    this.#shared = { url: options.url, lists: new Places(LISTS_AT_ONCE) };
    this.#query = new QueryReader();
    this.#audit = new RequestAudit({ ...options.audit, clock: options.clock });
    this.standing = standingHeaders({ tls: options.tls, subDomains: options.subDomains, framedBy: options.cors });
  }

  /**
   * Answers; never rejects. What answers without waiting is over when this returns, which {@link ANSWERED} says.
   * @param stopped aborted when the server gives up what is under way
   * @param mayContinue sends the 100 that the client waits for before it sends its body
   */
  handle(
    request: IncomingMessage,
    response: HeldResponse,
    stopped: Followers,
    mayContinue?: () => void,
  ): Promise<void> {
    const { clock, metrics } = this.#options;
    const begun = clock.now();
    const exchange = this.#exchange(begun, request, response, stopped);
    if (mayContinue) continueWhenRead(request, response, mayContinue);
    metrics.begun();
    let answered: Promise<void>;
    try {
      answered = this.#answer(exchange);
    } catch (error) {
      answered = this.#fail(error, exchange);
    }
    if (answered !== ANSWERED || response.settled) return this.#finish(exchange, begun, answered);
    this.#end(exchange, begun);
    return isRead(request) ? ANSWERED : this.#discardRest(exchange);
  }

  #exchange(begun: number, request: IncomingMessage, response: HeldResponse, stopped: Followers): Exchange {
    const id = this.#ids.next();
    const head = new AnswerHead(request, response, this.#date.at(begun), [
      headerLine('x-request-id', id),
      ...this.standing,
    ]);
    return new Exchange(id, head, request, response, stopped, this.#options.log);
  }

  async #finish(exchange: Exchange, begun: number, answered: Promise<void>): Promise<void> {
    try {
      await answered;
    } catch (error) {
      await this.#fail(error, exchange);
    }
    this.#end(exchange, begun);
    if (!isRead(exchange.request)) await this.#discardRest(exchange);
  }

  #end(exchange: Exchange, begun: number): void {
    const { clock, metrics, log } = this.#options;
    const { request, response, route } = exchange;
    this.#audit.ended(exchange);
    exchange[Symbol.dispose]();
    const seconds = (clock.now() - begun) / 1000;
    metrics.ended(route?.path ?? 'none', request.method ?? '', response.statusCode, seconds);
    if (log.isLevelEnabled('debug')) {
      // Never the URL: its query may hold a token.
      const about = { method: request.method, route: route?.path, status: response.statusCode, seconds };
      exchange.log.debug(about, 'request');
    }
  }

  /** May throw at once or reject later. */
  #answer(exchange: Exchange): Promise<void> {
    const { request, head } = exchange;
    const { auth, cors } = this.#options;
    const [path, search] = splitUrl(request.url ?? '/');
    if (cors !== false)
      for (const [name, value] of corsHeaders(cors, request.headers.origin)) head.add(headerLine(name, value));
    if (this.draining) head.add(CLOSING);
    refuseOddHeads(request);
    if (request.method === 'OPTIONS') return this.#tellMethods(exchange, path);
    const found = this.#router.find(request.method ?? '', path);
    const { route } = found;
    exchange.route = route;
    exchange.params = found.params;
    if (this.draining && !this.#always.has(route)) throw stopping();
    const version = versionOf(request, this.#options.assumedApiVersion);
    head.add(VERSION_LINES[version]);
    const parameters = search === '' ? NO_PARAMETERS : new URLSearchParams(search);
    // Most of what is asked most often is open, and should not wait a turn for nothing.
    if (route.access === 'open') {
      if (route.method !== 'GET') this.#refuseForeign(request);
      if (route.token) exchange.concerned = checkServiceToken(route.token, request, route, auth.guesses);
      return this.#call(exchange, found, version, parameters, ANONYMOUS);
    }
    const known = (caller: Caller): void => {
      exchange.caller = caller;
    };
    return authenticate(route, request, parameters, auth, known).then((caller) => {
      if (caller.kind === 'admin' && caller.operator && route.method !== 'GET')
        exchange.log.info(
          { operator: caller.operator.userId, method: route.method, route: route.path },
          'an operator asks for a change',
        );
      return this.#call(exchange, found, version, parameters, caller);
    });
  }

  #refuseForeign(request: IncomingMessage): void {
    const { cors, url } = this.#options;
    const { origin } = request.headers;
    if (isForeign(cors, origin, publicUrl(request, url)))
      throw forbidden(`header Origin '${origin}': pages of this service and of http.enableCors may send this`);
  }

  #call(
    exchange: Exchange,
    { route, params }: Found,
    version: ApiVersion,
    parameters: URLSearchParams,
    caller: Caller,
  ): Promise<void> {
    this.#audit.admitted(exchange, route, caller);
    if (parameters !== NO_PARAMETERS) parameters.delete('access_token');
    const query = this.#query.read(route, parameters);
    const versionNamed = namesVersion(exchange.request);
    const asked = { caller, version, versionNamed, params, query };
    const context = new RequestContext(exchange, this.#shared, asked);
    const { room } = this.#options;
    if (room && needsRoom(route)) return this.#callWithRoom(room, route, exchange, context);
    const handled = route.handler(context);
    const { response } = exchange;
    if (handled !== ANSWERED || response.settled)
      return handled.then(() => response.settled).then(() => demandAnswer(exchange, route));
    demandAnswer(exchange, route);
    return ANSWERED;
  }

  async #callWithRoom(room: DiskRoom, route: Route, exchange: Exchange, context: RequestContext): Promise<void> {
    const lack = await room.lack();
    if (lack !== undefined) throw unavailable(lack, FULL_RETRY_SECONDS);
    await route.handler(context);
    await exchange.response.settled;
    demandAnswer(exchange, route);
  }

  #tellMethods({ head }: Exchange, path: string): Promise<void> {
    const methods = this.#router.methodsOf(path);
    if (methods.length === 0) throw notFound(`nothing is at ${path}`);
    const { response } = head;
    response.statusCode = 204;
    response.setHeader('allow', methods.join(', '));
    if (response.hasHeader('access-control-allow-origin'))
      for (const [name, value] of preflightHeaders(methods)) response.setHeader(name, value);
    response.end();
    return ANSWERED;
  }

  async #fail(thrown: unknown, exchange: Exchange): Promise<void> {
    const { request, id, log } = exchange;
    await exchange.response.settled;
    if (exchange.clientGone) {
      log.debug({ reason: messageOf(thrown) }, 'the client went away');
      return;
    }
    // Streams say `aborted` of each other; that we stop is known here, and not taken from an error.
    const isStopping = this.draining || exchange.signal.aborted;
    const error = isStopping && kindOf(thrown) === 'aborted' && !hasNoRoom(thrown) ? stopping() : toHttpError(thrown);
    if (error.code >= 500) {
      const about = { err: error.cause ?? error, method: request.method, route: exchange.route?.path };
      log[error.code === 500 ? 'error' : isStopping ? 'info' : 'warn'](about, 'request failed');
    }
    const { response } = exchange.response.headersSent ? exchange : exchange.head;
    try {
      await answerError(error, request, response, id, this.#options.clock);
      await exchange.response.settled;
    } catch (cause) {
      log.error({ err: cause }, 'the error could not be sent');
      response.destroy();
    }
  }

  /** A body that the handler did not want: what is still coming is read for a while, then the connection is cut. */
  async #discardRest({ request }: Exchange): Promise<void> {
    await discardBody(request, this.#options.clock);
    if (!request.complete) request.socket.destroy();
  }
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** Nothing of its body is left, or it has none: that it is complete is told only after its handler began. */
const isRead = (request: IncomingMessage): boolean => request.complete || request.readableEnded;

function demandAnswer({ response }: Exchange, route: Route): void {
  if (!response.headersSent && !response.destroyed)
    throw defect(`the handler of ${nameOf(route)} ended without an answer`);
}

const stopping = (): HttpError => unavailable('the service is stopping; try again', DRAINING_RETRY_SECONDS);

/** The 100 goes out with the first read, so that a handler can refuse before a byte of the body was sent. */
function continueWhenRead(request: IncomingMessage, response: HeldResponse, mayContinue: () => void): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) mayContinue();
    read.call(request, size);
  };
}

/** Path and query; of an absolute URL, as proxies send it, what follows the host. */
function splitUrl(url: string): readonly [path: string, query: string] {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = local.indexOf('?');
  return mark < 0 ? [local || '/', ''] : [local.slice(0, mark) || '/', local.slice(mark + 1)];
}
