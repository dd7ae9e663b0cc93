// A front end of its own for a test of the HTTP kernel: real sockets on a free port, tokens of a key pair of its own.

import { connect, type Socket } from 'node:net';
import type { ApiVersion } from '../../engine/model/api-version.ts';
import type { IdempotencyKeys } from '../../engine/ports/idempotency-keys.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import { type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { type Clock, systemClock } from '../../engine/runtime/time.ts';
import type { AuthSettings } from '../../http/kernel/auth/authenticate.ts';
import { issueToken, newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { TokenGuesses } from '../../http/kernel/auth/token-guesses.ts';
import { tokenVerifier } from '../../http/kernel/auth/tokens.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import { httpMetrics } from '../../http/kernel/pipeline/http-metrics.ts';
import { type HealthCheck, opsRoutes } from '../../http/kernel/pipeline/ops.ts';
import type { RateLimits } from '../../http/kernel/pipeline/rate-limit.ts';
import type { UrlSettings } from '../../http/kernel/pipeline/request-head.ts';
import { RequestPipeline } from '../../http/kernel/pipeline/request-pipeline.ts';
import type { Access, Route } from '../../http/kernel/pipeline/route.ts';
import { HttpServer, type ServerLimits } from '../../http/kernel/server/server.ts';
import { FakeAuditLog } from '../fakes/fake-audit-log.ts';

export const ADMIN = 'a'.repeat(40);
export const keys = await newKeyPair();

export interface AppOptions {
  readonly cors?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  readonly auth?: Partial<AuthSettings>;
  readonly url?: Partial<UrlSettings>;
  readonly assumedApiVersion?: ApiVersion;
  readonly checks?: readonly HealthCheck[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly subDomains?: boolean;
  /** Of the pipeline: how long an unwanted body is read, what the metrics say. */
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly metrics?: Metrics;
  readonly room?: DiskRoom;
  readonly keys?: IdempotencyKeys;
  readonly rateLimits?: RateLimits;
  /** Where requests are recorded. */
  readonly trail?: AuditTrail;
}

/** Tests have one address, and send more wrong tokens than people do. */
export const patientGuesses = (): TokenGuesses =>
  new TokenGuesses({ isProxy: () => false, clock: systemClock, log: silentLogger(), atOnce: Number.MAX_SAFE_INTEGER });

/** Of requests that nobody asks about. */
export const unreadTrail = (metrics = new Metrics()): AuditTrail =>
  new AuditTrail({ table: new FakeAuditLog(), clock: systemClock, log: silentLogger(), metrics });

interface Teardown {
  teardown(fn: () => unknown): void;
}

export const route = (path: string, access: Access, handler: Route['handler'], more: Partial<Route> = {}): Route => ({
  method: 'GET',
  path,
  access,
  operationId: path,
  summary: path,
  responses: { 200: { description: 'ok' } },
  handler,
  ...more,
});

export async function httpApp(t: Teardown, routes: readonly Route[], options: AppOptions = {}) {
  const metrics = options.metrics ?? new Metrics();
  let ready = true;
  const clock = options.clock ?? systemClock;
  const isProxy = (): boolean => false;
  const told = httpMetrics(metrics, 'test');
  const log = options.log ?? silentLogger();
  const trail = options.trail ?? unreadTrail(metrics);
  const pipeline = new RequestPipeline({
    room: options.room,
    keys: options.keys,
    rateLimits: options.rateLimits,
    routes,
    opsRoutes: opsRoutes({
      threads: () => 3,
      version: '1',
      checks: options.checks ?? [],
      unready: async () => (ready ? undefined : 'not ready'),
      metrics,
      clock,
    }),
    auth: {
      adminToken: ADMIN,
      guesses: patientGuesses(),
      operators: false,
      verify: tokenVerifier({ issuer: 'test', clockToleranceMs: 0 }, { publicKeyPem: keys.publicKeyPem }),
      queryToken: true,
      remember: async () => undefined,
      ...options.auth,
    },
    cors: options.cors ?? false,
    url: { isProxy, basePath: '/base', ...options.url },
    tls: options.tls !== undefined,
    subDomains: options.subDomains,
    assumedApiVersion: options.assumedApiVersion,
    clock,
    log,
    metrics: told,
    audit: { trail, service: 'test', isProxy: options.url?.isProxy ?? isProxy },
  });
  const server = new HttpServer({
    name: 'test',
    clock: systemClock,
    log: silentLogger(),
    host: '127.0.0.1',
    port: 0,
    tls: options.tls,
    limits: {
      maxHeaderSize: 16_384,
      maxConnections: 100,
      connectionsPerAddress: 100,
      maxPipelined: 16,
      maxUnsentSize: 32 * 1024 * 1024,
      minTransferRate: 1,
      handshakeTimeoutMs: 10_000,
      headerTimeoutMs: 10_000,
      idleTimeoutMs: 60_000,
      keepAliveTimeoutMs: 5_000,
      ...options.limits,
    },
    isProxy: options.url?.isProxy ?? isProxy,
    metrics: told,
    pipeline,
  });
  await server.start(new AbortController().signal);
  t.teardown(async () => {
    await server.stop(systemClock.now() + 1_000);
    server.kill();
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    server,
    pipeline,
    metrics,
    trail,
    setReady: (value: boolean) => {
      ready = value;
    },
  };
}

export const bearer = async (claims: Record<string, string | boolean> = {}, more: object = {}): Promise<string> =>
  issueToken({
    privateKeyPem: keys.privateKeyPem,
    issuer: 'test',
    subject: '42',
    claims,
    lifetimeSeconds: 3_600,
    ...more,
  });

/** One request as bytes, the whole answer as text, until the server closes the connection. */
export async function raw(port: number, text: string): Promise<string> {
  const { socket, answer } = dial(port);
  socket.end(text);
  return answer;
}

/** A connection from that address, to write to by hand; `answer` is all that came back when it closes, whether by an end or a reset. */
export function dial(
  port: number,
  from = '127.0.0.1',
): { readonly socket: Socket; readonly answer: Promise<string>; got(): string } {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from });
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  const answer = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(text));
  });
  return { socket, answer, got: () => text };
}
