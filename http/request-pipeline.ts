// What every request goes through: id, version, route, caller, query, handler; and one way out for whatever is thrown.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { defect, kindOf, messageOf } from '../engine/failure.ts';
import type { Logger } from '../engine/log.ts';
import type { Clock } from '../engine/time.ts';
import { answerError } from './answer-error.ts';
import { type AuthSettings, authenticate } from './authenticate.ts';
import { ANONYMOUS } from './caller.ts';
import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION, RequestContext } from './context.ts';
import { type CorsSettings, corsHeaders, preflightHeaders } from './cors.ts';
import { discardBody } from './discard-body.ts';
import { badRequest, HttpError, notFound, toHttpError, unavailable } from './errors.ts';
import { Exchange } from './exchange.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { publicUrl, type UrlSettings } from './public-url.ts';
import { QueryReader } from './query.ts';
import type { Route } from './route.ts';
import { Router } from './router.ts';

export interface PipelineOptions {
  /** One that has method and path of an ops route takes its place. */
  readonly routes: readonly Route[];
  /** Served while draining too: health, readiness, metrics. */
  readonly opsRoutes: readonly Route[];
  readonly auth: AuthSettings;
  readonly cors: CorsSettings;
  readonly url: UrlSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HttpMetrics;
}

const DRAINING_RETRY_SECONDS = 10;
const HOST = 'host';
/** Of a path without a query; nothing is ever added to it. */
const NO_PARAMETERS = new URLSearchParams();

export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #router: Router;
  readonly #query: QueryReader;
  readonly #always: ReadonlySet<Route>;
  /** Every route that is served, for tests and documentation. */
  readonly routes: readonly Route[];
  draining = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    const own = new Set(options.routes.map(nameOf));
    const ops = new Set(options.opsRoutes.map(nameOf));
    this.routes = [...options.opsRoutes.filter((route) => !own.has(nameOf(route))), ...options.routes];
    this.#always = new Set(this.routes.filter((route) => ops.has(nameOf(route))));
    this.#router = new Router(this.routes, options.url.basePath);
    this.#query = new QueryReader();
  }

  /**
   * Answers; never rejects.
   * @param stopped the server gives up what is under way
   * @param mayContinue sends the 100 that the client waits for before it sends its body
   */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    stopped: AbortSignal,
    mayContinue?: () => void,
  ): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const begun = clock.now();
    using exchange = new Exchange(request, response, stopped, log);
    exchange.head.add('x-request-id', exchange.id);
    exchange.head.add('x-content-type-options', 'nosniff');
    if (mayContinue) continueWhenRead(request, response, mayContinue);
    metrics.begun();
    try {
      await this.#answer(exchange);
    } catch (error) {
      await this.#fail(error, exchange);
    }
    const seconds = (clock.now() - begun) / 1000;
    metrics.ended(exchange.route?.path ?? 'none', request.method ?? '', response.statusCode, seconds);
    if (log.isLevelEnabled('debug')) {
      // Never the URL: its query may hold a token.
      const about = { method: request.method, route: exchange.route?.path, status: response.statusCode, seconds };
      exchange.log.debug(about, 'request');
    }
    if (!request.complete) await this.#discardRest(exchange);
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request, response, head } = exchange;
    const { auth, cors, url } = this.#options;
    const [path, search] = splitUrl(request.url ?? '/');
    for (const [name, value] of corsHeaders(cors, request.headers.origin)) head.add(name, value);
    if (this.draining) head.add('connection', 'close');
    refuseOddHeads(request);
    if (request.method === 'OPTIONS') return this.#tellMethods(exchange, path);
    const { route, params } = this.#router.find(request.method ?? '', path);
    exchange.route = route;
    if (this.draining && !this.#always.has(route)) throw stopping();
    const version = versionOf(request);
    head.add('api-version', version);
    const parameters = search === '' ? NO_PARAMETERS : new URLSearchParams(search);
    // Most of what is asked most often is open, and should not wait a turn for nothing.
    const caller = route.access === 'open' ? ANONYMOUS : await authenticate(route, request, parameters, auth);
    parameters.delete('access_token');
    const query = this.#query.read(route, parameters);
    await route.handler(
      new RequestContext({
        id: exchange.id,
        request,
        head,
        caller,
        version,
        params,
        query,
        publicUrl: () => publicUrl(request, url),
        signal: () => exchange.signal,
        log: () => exchange.log,
        traceparent: () => exchange.traceparent,
      }),
    );
    if (!response.headersSent && !response.destroyed)
      throw defect(`the handler of ${nameOf(route)} ended without an answer`);
  }

  #tellMethods({ head }: Exchange, path: string): void {
    const methods = this.#router.methodsOf(path);
    if (methods.length === 0) throw notFound(`nothing is at ${path}`);
    const { response } = head;
    response.statusCode = 204;
    response.setHeader('allow', methods.join(', '));
    if (response.hasHeader('access-control-allow-origin'))
      for (const [name, value] of preflightHeaders(methods)) response.setHeader(name, value);
    response.end();
  }

  async #fail(thrown: unknown, exchange: Exchange): Promise<void> {
    const { request, id, log } = exchange;
    if (exchange.clientGone) {
      log.debug({ reason: messageOf(thrown) }, 'the client went away');
      return;
    }
    const stopped = kindOf(thrown) === 'aborted';
    const error = stopped ? stopping() : toHttpError(thrown);
    if (error.code >= 500 && !stopped) {
      const about = { err: error.cause ?? error, method: request.method, route: exchange.route?.path };
      log[error.code === 500 ? 'error' : 'warn'](about, 'request failed');
    }
    const { response } = exchange.response.headersSent ? exchange : exchange.head;
    try {
      await answerError(error, request, response, id, this.#options.clock);
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

const stopping = (): HttpError => unavailable('the service is stopping; try again', DRAINING_RETRY_SECONDS);

/** The 100 goes out with the first read, so that a handler can refuse before a byte of the body was sent. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse, mayContinue: () => void): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) mayContinue();
    read.call(request, size);
  };
}

/** What Node would refuse on its own without our error body. */
function refuseOddHeads({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('the Host header is missing');
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === HOST.length && rawHeaders[i]?.toLowerCase() === HOST) hosts++;
  // A proxy in front may have gone by the other one (RFC 9112, 3.2).
  if (hosts > 1) throw badRequest('there are several Host headers; one is needed');
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw new HttpError('bad-request', `header Expect '${expect}': only 100-continue is known`, { code: 417 });
}

/** Path and query; of an absolute URL, as proxies send it, what follows the host. */
function splitUrl(url: string): readonly [path: string, query: string] {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = local.indexOf('?');
  return mark < 0 ? [local || '/', ''] : [local.slice(0, mark) || '/', local.slice(mark + 1)];
}

function versionOf(request: IncomingMessage): ApiVersion {
  const asked = request.headers['api-version'];
  if (asked === undefined) return DEFAULT_API_VERSION;
  const known = API_VERSIONS.find((version) => version === asked);
  if (!known) throw badRequest(`header Api-Version '${asked}': one of ${API_VERSIONS.join(', ')} is needed`);
  return known;
}
