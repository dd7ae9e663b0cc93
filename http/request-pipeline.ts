// What every request goes through: id, version, route, caller, query, handler; and one way out for whatever is thrown.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { kindOf, messageOf } from '../engine/failure.ts';
import type { Logger } from '../engine/log.ts';
import type { Clock } from '../engine/time.ts';
import { type AuthSettings, authenticate } from './authenticate.ts';
import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION, RequestContext } from './context.ts';
import { type CorsSettings, corsHeaders } from './cors.ts';
import { discardBody } from './discard-body.ts';
import { badRequest, errorBody, type HttpError, toHttpError, unavailable } from './errors.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { publicUrl, type UrlSettings } from './public-url.ts';
import { QueryReader } from './query.ts';
import type { Route } from './route.ts';
import { Router } from './router.ts';

export interface PipelineOptions {
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
const TRACE_ID = /^[A-Za-z0-9-]{1,64}$/;

export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #router: Router;
  readonly #query: QueryReader;
  readonly #always: ReadonlySet<Route>;
  draining = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    const routes = [...options.opsRoutes, ...options.routes];
    this.#router = new Router(routes);
    this.#query = new QueryReader(routes);
    this.#always = new Set(options.opsRoutes);
  }

  /** Answers; never rejects. `mayContinue` sends the 100 that the client waits for. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    stopped: AbortSignal,
    mayContinue?: () => void,
  ): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const begun = clock.now();
    const id = randomUUID();
    const trace = String(request.headers.traceid ?? '');
    const requestLog = log.child({ request: id, ...(TRACE_ID.test(trace) ? { trace } : {}) });
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(new Error('the client went away'));
    });
    response.setHeader('x-request-id', id);
    response.setHeader('x-content-type-options', 'nosniff');
    metrics.begun();
    let route: Route | undefined;
    try {
      const signal = AbortSignal.any([gone.signal, stopped]);
      await this.#answer(request, response, { id, log: requestLog, signal, mayContinue }, (found) => {
        route = found;
      });
    } catch (error) {
      this.#fail(error, request, response, id, requestLog, gone.signal.aborted);
    }
    discardBody(request, response, clock);
    metrics.ended(route?.path ?? 'none', request.method ?? '', response.statusCode, (clock.now() - begun) / 1000);
    requestLog.debug(
      { method: request.method, route: route?.path, status: response.statusCode, ms: clock.now() - begun },
      'request',
    );
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    about: {
      readonly id: string;
      readonly log: Logger;
      readonly signal: AbortSignal;
      readonly mayContinue: (() => void) | undefined;
    },
    onRoute: (route: Route) => void,
  ): Promise<void> {
    const { auth, cors, url } = this.#options;
    const [path = '/', search = ''] = splitUrl(request.url ?? '/');
    for (const [name, value] of corsHeaders(cors, request.headers.origin)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') {
      preflight(response, this.#router.methodsOf(path));
      return;
    }
    const { route, params } = this.#router.find(request.method ?? '', path);
    onRoute(route);
    if (this.draining && !this.#always.has(route))
      throw unavailable('the service is stopping; try again', DRAINING_RETRY_SECONDS);
    const version = versionOf(request);
    response.setHeader('api-version', version);
    const parameters = new URLSearchParams(search);
    const caller = await authenticate(route, request, parameters, auth);
    parameters.delete('access_token');
    const query = this.#query.read(route, parameters);
    about.mayContinue?.();
    await route.handler(
      new RequestContext({
        id: about.id,
        request,
        response,
        caller,
        version,
        params,
        query,
        publicUrl: publicUrl(request, url),
        signal: about.signal,
        log: about.log,
      }),
    );
  }

  #fail(
    thrown: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    log: Logger,
    clientGone: boolean,
  ): void {
    if (clientGone) {
      log.debug({ reason: messageOf(thrown) }, 'the client went away');
      return;
    }
    const stopped = kindOf(thrown) === 'aborted';
    const error = stopped
      ? unavailable('the service is stopping; try again', DRAINING_RETRY_SECONDS)
      : toHttpError(thrown);
    if (error.code >= 500 && !stopped)
      log[error.code === 500 ? 'error' : 'warn'](
        { err: error.cause ?? error, method: request.method },
        'request failed',
      );
    if (response.headersSent) {
      // Half an answer is under way: cut it off, so that nobody takes it for the whole.
      response.destroy();
      return;
    }
    sendError(error, response, id, request.method !== 'HEAD');
  }
}

function sendError(error: HttpError, response: ServerResponse, id: string, withBody: boolean): void {
  for (const name of response.getHeaderNames())
    if (name.startsWith('content-') || name === 'etag' || name === 'last-modified') response.removeHeader(name);
  const body = Buffer.from(JSON.stringify(errorBody(error, id)));
  response.statusCode = error.code;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', body.length);
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  response.end(withBody ? body : undefined);
}

function preflight(response: ServerResponse, methods: readonly string[]): void {
  response.statusCode = 204;
  response.setHeader('access-control-allow-methods', methods.join(', '));
  response.setHeader(
    'access-control-allow-headers',
    'authorization, content-type, api-version, if-match, range, traceid',
  );
  response.setHeader('access-control-max-age', '600');
  response.end();
}

function splitUrl(url: string): readonly [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

function versionOf(request: IncomingMessage): ApiVersion {
  const asked = request.headers['api-version'] ?? DEFAULT_API_VERSION;
  const known = API_VERSIONS.find((version) => version === asked);
  if (!known) throw badRequest(`header Api-Version '${asked}': one of ${API_VERSIONS.join(', ')} is needed`);
  return known;
}
