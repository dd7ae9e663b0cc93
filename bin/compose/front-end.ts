// A front end of the configuration: routes on a port, with the process's authentication, limits and operator routes.

import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Configuration } from '../../config/configuration.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { IdempotencyKeys } from '../../engine/ports/idempotency-keys.ts';
import type { Pause } from '../../engine/ports/pauses.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { type AuthSettings, profileRecorder } from '../../http/kernel/auth/authenticate.ts';
import type { SignOuts } from '../../http/kernel/auth/sign-outs.ts';
import { TokenGuesses } from '../../http/kernel/auth/token-guesses.ts';
import { tokenVerifier } from '../../http/kernel/auth/tokens.ts';
import { apiDocs } from '../../http/kernel/openapi/api-docs.ts';
import type { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import { httpMetrics } from '../../http/kernel/pipeline/http-metrics.ts';
import { type HealthCheck, opsRoutes } from '../../http/kernel/pipeline/ops.ts';
import { type Database, Readiness } from '../../http/kernel/pipeline/readiness.ts';
import { RequestPipeline } from '../../http/kernel/pipeline/request-pipeline.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { proxyCheck } from '../../http/kernel/server/peer-address.ts';
import { HttpServer } from '../../http/kernel/server/server.ts';
import { VERSION } from '../cli/version.ts';
import { roomCheck } from './watch-dependencies.ts';

export interface FrontEndParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly ready: () => boolean;
  /** The audit trail of the process; it records the requests of all front ends. */
  readonly trail: AuditTrail;
  /** Free space on all disks that this process writes to; undefined = not checked. */
  readonly room?: DiskRoom;
  /** The listener for `/admin`, `/metrics` and `/health` of this process; undefined = the front ends serve them. */
  readonly adminListener?: AdminListener | undefined;
}

interface AdminListener {
  readonly host: string;
  readonly port: number;
}

/** Names in `ports` and `http.basePath` of the configuration. */
export type FrontEndName = keyof Configuration['containerCore']['ports'];

interface FrontEndOptions {
  readonly name: FrontEndName;
  readonly host: string;
  readonly port: number;
  readonly routes: readonly Route[];
  readonly checks: readonly HealthCheck[];
  /** Those without which no request can be served, for /ready; default none. */
  readonly databases?: readonly Database[];
  readonly auth: AuthSettings;
  /** Of the service; required if one of its routes takes keys. */
  readonly keys?: IdempotencyKeys;
  /** Origins besides those of the configuration whose pages may call; default none. */
  readonly origins?: readonly string[];
  /** What operators have paused, for /health. */
  readonly paused?: () => readonly Pause[];
}

export interface FrontEnd {
  readonly spec: ChildSpec;
  /** The listener for operators, if configured. Start the one of a single front end per process. */
  readonly admin?: ChildSpec;
  /** Base URL without trailing slash: of the running server, or with the configured port before it runs. */
  url(): string;
}

/** Number of threads of this process; 1 where /proc is missing. */
export function threadsHere(): number {
  try {
    return readdirSync('/proc/self/task').length;
  } catch {
    return 1;
  }
}

export async function frontEnd(
  core: Pick<Configuration['containerCore'], 'http'>,
  options: FrontEndOptions,
  parts: FrontEndParts,
): Promise<FrontEnd> {
  const { clock, log, metrics } = parts;
  const { http } = core;
  const basePath = basePathOf(http.basePath, options.name);
  const { assumedApiVersion } = http;
  const origins = [...new Set([...(http.enableCors || []), ...(options.origins ?? [])])];
  const cors = origins.length > 0 && origins;
  const tls = http.tls && {
    cert: await readFile(http.tls.certFile, 'utf8'),
    key: await readFile(http.tls.keyFile, 'utf8'),
  };
  const isProxy = proxyCheck(http);
  const serverOf = (
    { name, host, port, basePath }: Place,
    routes: readonly Route[],
    ops: readonly Route[],
  ): HttpServer => {
    const told = httpMetrics(metrics, name);
    const info = { title: `Longshore ${name}`, version: VERSION, basePath, assumedApiVersion };
    const docs = apiDocs([...ops, ...routes], info, name);
    const pipeline = new RequestPipeline({
      ...{ routes, opsRoutes: [...ops, ...docs], auth: options.auth, cors },
      ...{
        url: { isProxy, basePath },
        room: parts.room,
        keys: options.keys,
        rateLimits: http.rateLimit,
        tls: tls !== undefined,
        subDomains: http.tls?.includeSubDomains,
        assumedApiVersion,
        clock,
        log: log.child({ actor: name }),
        metrics: told,
        audit: { trail: parts.trail, service: name, isProxy },
      },
    });
    return new HttpServer({ name, clock, log, host, port, tls, limits: http.limits, isProxy, metrics: told, pipeline });
  };
  const readiness = new Readiness({ started: parts.ready, databases: options.databases ?? [], clock });
  const ops = (): readonly Route[] =>
    opsRoutes({
      ...{ version: VERSION, unready: () => readiness.lack() },
      checks: [...options.checks, ...(parts.room ? [roomCheck(parts.room)] : [])],
      ...{ threads: threadsHere, metrics, clock, paused: options.paused },
    });
  const admin = parts.adminListener;
  const isPublic = (route: Route): boolean => !admin || !isForOperators(route);
  let running: HttpServer | undefined;
  const create = (): HttpServer => {
    // A front end's own route with the name of an operator route is part of its contract.
    const routes = options.routes.filter((route) => !admin || !isForAdministrators(route));
    running = serverOf({ ...options, basePath }, routes, ops().filter(isPublic));
    return running;
  };
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    spec: { name: options.name, create },
    url: () => `${tls ? 'https' : 'http'}://${host}:${running?.port || options.port}`,
    ...(admin && {
      admin: {
        name: 'admin',
        create: () =>
          serverOf({ name: 'admin', ...admin, basePath: '' }, options.routes.filter(isForAdministrators), ops()),
      },
    }),
  };
}

interface Place {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly basePath: string;
}

const isForAdministrators = ({ path }: Route): boolean => path.startsWith('/admin/');
/** `/ready` stays, because load balancers probe it. */
const isForOperators = ({ path }: Route): boolean => path === '/health' || path === '/metrics';

/** The path prefix under which a proxy publishes the front end: one for all, or its own. */
export const basePathOf = (
  configured: Configuration['containerCore']['http']['basePath'],
  name: FrontEndName,
): string => (typeof configured === 'string' ? configured : (configured[name] ?? ''));

/** For a front end whose callers share its own secret. */
export const noUsers = ({ clock, log }: Pick<FrontEndParts, 'clock' | 'log'>): AuthSettings => ({
  adminToken: undefined,
  verify: undefined,
  guesses: new TokenGuesses({ isProxy: () => false, clock, log }),
  operators: false,
  queryToken: false,
  remember: async () => undefined,
});

/** How callers are authenticated, by the configuration. Remembers users' names to show them to others. */
export async function authSettings(
  core: Pick<Configuration['containerCore'], 'authentication' | 'http'>,
  accounts: Pick<Accounts, 'remember'>,
  clock: Clock,
  log: Logger,
  signOuts?: Pick<SignOuts, 'refusing'>,
): Promise<AuthSettings> {
  const { adminToken, oauth, operators } = core.authentication ?? {};
  const keys =
    oauth?.jwksUrl !== undefined
      ? { jwksUrl: oauth.jwksUrl }
      : oauth?.publicKeyFile !== undefined
        ? { publicKeyPem: await readFile(oauth.publicKeyFile, 'utf8') }
        : undefined;
  const verify =
    oauth && keys
      ? tokenVerifier(
          {
            issuer: oauth.issuer,
            audience: oauth.audience,
            clockToleranceMs: oauth.clockToleranceMs,
            operators,
          },
          keys,
        )
      : undefined;
  return {
    adminToken,
    guesses: new TokenGuesses({ isProxy: proxyCheck(core.http), clock, log: log.child({ actor: 'http' }) }),
    operators: operators !== undefined && oauth !== undefined,
    queryToken: oauth?.queryToken ?? false,
    verify: verify && signOuts ? signOuts.refusing(verify) : verify,
    remember: profileRecorder(accounts, clock, log),
  };
}
