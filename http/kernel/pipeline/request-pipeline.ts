// The steps of every request: id, route, version, caller, query, handler. Everything that is thrown is handled in one place.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { IdempotencyKeys } from '../../../engine/ports/idempotency-keys.ts';
import type { DiskRoom } from '../../../engine/ports/storage-room.ts';
import { aborted, defect, kindOf, lackOf, messageOf } from '../../../engine/runtime/failure.ts';
import type { LinkedControllers } from '../../../engine/runtime/joined-signal.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { Semaphore } from '../../../engine/runtime/semaphore.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { HeldResponse } from '../answers/held-response.ts';
import {
  type CorsSettings,
  corsHeaders,
  isForeign,
  preflightHeaders,
  securityHeaders,
} from '../answers/security-headers.ts';
import { type AuthSettings, authenticate, type Caller } from '../auth/authenticate.ts';
import { checkServiceToken } from '../auth/token-guesses.ts';
import { discardBody } from '../bodies/body-stream.ts';
import { clientAddress, peerOf } from '../server/peer-address.ts';
import { RequestScope } from '../server/request-scope.ts';
import { answerError } from './answer-error.ts';
import { RequestContext, type SharedByAnswers } from './context.ts';
import { forbidden, type HttpError, notFound, toHttpError, unavailable } from './errors.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { IdempotentRequests, keyOf } from './idempotency.ts';
import { QueryReader } from './query.ts';
import { RateLimit, type RateLimits } from './rate-limit.ts';
import { RequestAudit, type RequestAuditOptions } from './request-audit.ts';
import {
  namesVersion,
  publicUrl,
  refuseOddHeads,
  type UrlSettings,
  VERSION_HEADER,
  versionOf,
} from './request-head.ts';
import { type Found, needsRoom, type Route, Router } from './route.ts';

interface PipelineOptions {
  /** A route with the method and path of an ops route replaces it. */
  readonly routes: readonly Route[];
  /** Health, readiness and metrics. They are also served while draining. */
  readonly opsRoutes: readonly Route[];
  readonly auth: AuthSettings;
  readonly cors: CorsSettings;
  readonly url: UrlSettings;
  /** The version of requests that name none; 1.8.0 when absent. */
  readonly assumedApiVersion?: ApiVersion | undefined;
  /** Default: none. */
  readonly rateLimits?: RateLimits | undefined;
  /** Required if a route takes keys. */
  readonly keys?: IdempotencyKeys | undefined;
  /** Absent = there is always room. */
  readonly room?: DiskRoom | undefined;
  /** True when the listener uses TLS. */
  readonly tls: boolean;
  /** With TLS: subdomains use it as well. */
  readonly subDomains?: boolean | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HttpMetrics;
  readonly audit: Omit<RequestAuditOptions, 'clock'>;
}

/** Fewer than the connections to a database, so that some are left for other requests while lists are read. */
const LISTS_AT_ONCE = 4;
const DRAINING_RETRY_SECONDS = 10;
const FULL_RETRY_SECONDS = 30;

export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #router: Router;
  readonly #query: QueryReader;
  readonly #audit: RequestAudit;
  readonly #rate: RateLimit;
  readonly #shared: SharedByAnswers;
  readonly #always: ReadonlySet<Route>;
  /** All routes, for tests and documentation. */
  readonly routes: readonly Route[];
  /** Headers of every response. */
  readonly standing: Readonly<Record<string, string>>;
  readonly #draining = new AbortController();

  constructor(options: PipelineOptions) {
    this.#options = options;
    const own = new Set(options.routes.map(nameOf));
    const ops = new Set(options.opsRoutes.map(nameOf));
    this.routes = [...options.opsRoutes.filter((route) => !own.has(nameOf(route))), ...options.routes];
    this.#always = new Set(this.routes.filter((route) => ops.has(nameOf(route))));
    this.#router = new Router(this.routes, options.url.basePath);
    const { keys, clock, log } = options;
    const idempotent = keys && new IdempotentRequests(keys, clock, log);
    this.#shared = {
      url: options.url,
      lists: new Semaphore(LISTS_AT_ONCE),
      draining: this.#draining.signal,
      idempotent,
    };
    this.#query = new QueryReader();
    this.#rate = new RateLimit(options.rateLimits ?? {}, options.clock);
    this.#audit = new RequestAudit({ ...options.audit, clock: options.clock });
    this.standing = securityHeaders({ tls: options.tls, subDomains: options.subDomains, framedBy: options.cors });
  }

  get draining(): boolean {
    return this.#draining.signal.aborted;
  }

  /** New requests get 503 from now on, and responses that last are ended. */
  drain(): void {
    this.#draining.abort(aborted('the service is stopping'));
  }

  /**
   * Handles the request. Never rejects.
   * @param stopped aborts when the server gives up requests under way
   * @param mayContinue sends the 100 that the client waits for before it sends its body
   */
  async handle(
    request: IncomingMessage,
    response: HeldResponse,
    stopped: LinkedControllers,
    mayContinue?: () => void,
  ): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const begun = clock.now();
    const scope = new RequestScope(randomUUID(), request, response, stopped, log);
    if (mayContinue) continueWhenRead(request, response, mayContinue);
    metrics.begun();
    try {
      await this.#answer(scope);
    } catch (error) {
      await this.#fail(error, scope);
    }
    this.#end(scope, begun);
    if (!request.complete) await this.#discardRest(request);
  }

  #end(scope: RequestScope, begun: number): void {
    const { clock, metrics, log } = this.#options;
    const { request, response, route } = scope;
    this.#audit.ended(scope);
    scope[Symbol.dispose]();
    const seconds = (clock.now() - begun) / 1000;
    const measured = route?.lasting ? undefined : seconds;
    metrics.ended(route?.path ?? 'none', request.method ?? '', response.statusCode, measured);
    if (log.isLevelEnabled('debug')) {
      // Never log the URL, because its query may contain a token.
      const about = { method: request.method, route: route?.path, status: response.statusCode, seconds };
      scope.log.debug(about, 'request');
    }
  }

  async #answer(scope: RequestScope): Promise<void> {
    const { request, response } = scope;
    const { auth, cors } = this.#options;
    const [path, search] = splitUrl(request.url ?? '/');
    response.setHeader('x-request-id', scope.id);
    for (const [name, value] of Object.entries(this.standing)) response.setHeader(name, value);
    for (const [name, value] of corsHeaders(cors, request.headers.origin)) response.setHeader(name, value);
    if (this.draining) response.setHeader('connection', 'close');
    refuseOddHeads(request);
    if (request.method === 'OPTIONS') return this.#tellMethods(response, path);
    const found = this.#router.find(request.method ?? '', path);
    const { route } = found;
    scope.route = route;
    scope.params = found.params;
    for (const [name, value] of Object.entries(route.standing ?? {})) response.setHeader(name, value);
    const isAlways = this.#always.has(route);
    if (this.draining && !isAlways) throw stopping();
    // Callers of services that have their own token are programs of the operators.
    const isLimited = !isAlways && route.token === undefined;
    if (isLimited) this.#rate.count('address', peerOf(clientAddress(request, this.#options.url.isProxy)), response);
    const version = versionOf(request, this.#options.assumedApiVersion);
    response.setHeader(VERSION_HEADER, version);
    const parameters = new URLSearchParams(search);
    if (route.access === 'open') {
      if (route.method !== 'GET') this.#refuseForeign(request);
      if (route.token) scope.concerned = checkServiceToken(route.token, request, route, auth.guesses);
    }
    const caller = await authenticate(route, request, parameters, auth, (known) => {
      scope.caller = known;
    });
    if (caller.kind === 'admin' && caller.operator && route.method !== 'GET')
      scope.log.info(
        { operator: caller.operator.userId, method: route.method, route: route.path },
        'an operator asks for a change',
      );
    if (isLimited && (caller.kind === 'user' || caller.kind === 'guest'))
      this.#rate.count('user', caller.userId, response);
    return this.#call(scope, found, version, parameters, caller);
  }

  #refuseForeign(request: IncomingMessage): void {
    const { cors, url } = this.#options;
    const { origin } = request.headers;
    if (isForeign(cors, origin, publicUrl(request, url)))
      throw forbidden(`header Origin '${origin}': pages of this service and of http.enableCors may send this`);
  }

  async #call(
    scope: RequestScope,
    { route, params }: Found,
    version: ApiVersion,
    parameters: URLSearchParams,
    caller: Caller,
  ): Promise<void> {
    const { request, response } = scope;
    this.#audit.admitted(scope, route, caller);
    parameters.delete('access_token');
    const query = this.#query.read(route, parameters);
    const key = route.keyed ? keyOf(request) : undefined;
    const lack = needsRoom(route) ? await this.#options.room?.lack() : undefined;
    if (lack !== undefined) throw unavailable(lack, FULL_RETRY_SECONDS);
    const asked = { caller, version, versionNamed: namesVersion(request), params, query, key };
    await route.handler(new RequestContext(scope, this.#shared, asked));
    await response.settled;
    if (!response.headersSent && !response.destroyed)
      throw defect(`the handler of ${nameOf(route)} ended without an answer`);
  }

  #tellMethods(response: HeldResponse, path: string): void {
    const methods = this.#router.methodsOf(path);
    if (methods.length === 0) throw notFound(`nothing is at ${path}`);
    response.statusCode = 204;
    response.setHeader('allow', methods.join(', '));
    for (const [name, value] of Object.entries(this.#router.standingOf(path))) response.setHeader(name, value);
    if (response.hasHeader('access-control-allow-origin'))
      for (const [name, value] of preflightHeaders(methods)) response.setHeader(name, value);
    response.end();
  }

  async #fail(thrown: unknown, scope: RequestScope): Promise<void> {
    const { request, response, id, log } = scope;
    await response.settled;
    if (scope.clientGone) {
      log.debug({ reason: messageOf(thrown) }, 'the client went away');
      return;
    }
    // Streams also fail with `aborted` because of each other, so we check ourselves whether we are stopping.
    const isStopping = (this.draining || scope.signal.aborted) && kindOf(thrown) === 'aborted' && !lackOf(thrown);
    const error = isStopping ? stopping() : toHttpError(thrown);
    if (error.code >= 500) {
      const about = { err: error.cause ?? error, method: request.method, route: scope.route?.path };
      log[error.code === 500 ? 'error' : isStopping ? 'info' : 'warn'](about, 'request failed');
    }
    try {
      await answerError(error, request, response, id, this.#options.clock);
      await response.settled;
    } catch (cause) {
      log.error({ err: cause }, 'the error could not be sent');
      response.destroy();
    }
  }

  /** Discards the rest of a body that the handler did not read. After a while, closes the connection. */
  async #discardRest(request: IncomingMessage): Promise<void> {
    await discardBody(request, this.#options.clock);
    if (!request.complete) request.socket.destroy();
  }
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

const stopping = (): HttpError => unavailable('the service is stopping; try again', DRAINING_RETRY_SECONDS);

/** Sends the 100 when somebody begins to read, so that a handler can refuse the request before the body is sent. */
function continueWhenRead(request: IncomingMessage, response: HeldResponse, mayContinue: () => void): void {
  const onListener = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (!response.headersSent) mayContinue();
  };
  request.on('newListener', onListener);
}

/** Splits a URL into path and query. Of an absolute URL, as proxies send it, the scheme and the host are ignored. */
function splitUrl(url: string): readonly [path: string, query: string] {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = local.indexOf('?');
  return mark < 0 ? [local || '/', ''] : [local.slice(0, mark) || '/', local.slice(mark + 1)];
}
