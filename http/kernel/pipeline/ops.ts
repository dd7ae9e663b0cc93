// The routes of every front end for operators: /health, /ready, /metrics. /health has the same shape in all services: that of
// docs/contract/access.md#health plus `degraded`, `version`, and a `message` for each dependency with a problem.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Static } from 'typebox';
import { PAUSE_KINDS, type Pause } from '../../../engine/ports/pauses.ts';
import { Failure, transient } from '../../../engine/runtime/failure.ts';
import { withoutInternals } from '../../../engine/runtime/owner-text.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { Type } from '../openapi/schema-node.ts';
import { answer, type Route, refusals } from './route.ts';

export interface HealthCheck {
  readonly name: string;
  /** Resolves when the dependency answers. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** True: without it the service cannot work and is `unhealthy`. False: it is `degraded`. */
  readonly vital: boolean;
}

interface OpsOptions {
  readonly version: string;
  readonly checks: readonly HealthCheck[];
  /** Why requests cannot be served now; undefined when they can (readiness.ts). */
  readonly unready: () => Promise<string | undefined>;
  /** What operators have paused. Default: nothing can be paused. */
  readonly paused?: (() => readonly Pause[]) | undefined;
  /** Threads of this process. */
  readonly threads: () => number;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  readonly clock: Clock;
}

const PROBE_MS = 2_000;

/** Anybody may read it, so it does not say who paused it, or why. */
const PausedPart = Type.Named('PausedPart', {
  kind: Type.Enum([...PAUSE_KINDS]),
  name: Type.String(),
  since: Type.String({ format: 'date-time' }),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'When it ends by itself' })),
});
type PausedPart = Static<typeof PausedPart>;

/** The health document of all services. */
export const Health = Type.Named('Health', {
  status: Type.Enum(['healthy', 'degraded', 'unhealthy']),
  version: Type.String(),
  dependencies: Type.Array(
    Type.Object({
      name: Type.String(),
      reachable: Type.Boolean(),
      online: Type.Enum(['yes', 'unknown', 'no']),
      message: Type.Optional(Type.String()),
    }),
  ),
  paused: Type.Optional(
    Type.Array(PausedPart, { description: 'What operators have paused; it does not change the status' }),
  ),
  info: Type.Object({
    threads: Type.Integer({ minimum: 1 }),
    uptime: Type.String(),
    uptimeMillis: Type.Integer({ minimum: 1 }),
  }),
});

const READINESS = {
  type: 'object',
  properties: { ready: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['ready'],
} as const;

export function opsRoutes(options: OpsOptions): readonly Route[] {
  const health = sharedHealth(options);
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/health',
      access: 'open',
      operationId: 'getHealth',
      summary: 'Shows the health of the service and its dependencies',
      responses: { 200: { description: 'status is healthy, degraded or unhealthy', schema: Health } },
      handler: async (context) => context.json(200, await health()),
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/ready',
      access: 'open',
      operationId: 'getReady',
      summary: 'Shows whether the service accepts requests',
      responses: {
        200: { description: 'Ready', schema: READINESS },
        503: { description: 'Starting or shutting down, or a database cannot be reached', schema: READINESS },
      },
      handler: async (context) => {
        const reason = await options.unready();
        await context.json(reason === undefined ? 200 : 503, { ready: reason === undefined, reason });
      },
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/metrics',
      access: 'open',
      operationId: 'getMetrics',
      summary: 'Metrics in the Prometheus text format',
      responses: { 200: { description: 'Metrics', contentType: 'text/plain' } },
      handler: async (context) => context.text(200, options.metrics.contentType, await options.metrics.text()),
    },
  ];
}

export interface DependencyHealth {
  readonly name: string;
  readonly reachable: boolean;
  readonly online: 'yes' | 'unknown' | 'no';
  /** Why it is not online. */
  readonly message?: string;
}

export interface HealthReport {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  readonly version: string;
  readonly dependencies: readonly DependencyHealth[];
  readonly paused?: readonly PausedPart[];
  readonly info: { readonly threads: number; readonly uptime: string; readonly uptimeMillis: number };
}

type HealthParts = Pick<OpsOptions, 'checks' | 'clock' | 'version' | 'threads' | 'paused'>;

/** Calls that arrive while the probes run share their result, because anybody may call as often as they like. */
export function sharedHealth(parts: HealthParts): () => Promise<HealthReport> {
  const startedAt = parts.clock.now();
  let running: ReturnType<typeof probeAll> | undefined;
  return async () => {
    running ??= probeAll(parts).finally(() => {
      running = undefined;
    });
    const { status, dependencies } = await running;
    const uptimeMillis = Math.max(1, Math.round(parts.clock.now() - startedAt));
    const info = { threads: parts.threads(), uptime: formatUptime(uptimeMillis), uptimeMillis };
    const paused = parts.paused?.().map(pausedPart) ?? [];
    return { status, version: parts.version, dependencies, ...(paused.length > 0 ? { paused } : {}), info };
  };
}

const pausedPart = ({ kind, name, since, until }: Pause): PausedPart => ({
  ...{ kind, name, since: since.toISOString() },
  ...(until === undefined ? {} : { until: until.toISOString() }),
});

async function probeAll({ checks, clock }: HealthParts): Promise<Pick<HealthReport, 'status' | 'dependencies'>> {
  const dependencies = await Promise.all(checks.map((check) => probe(check, clock)));
  const broken = checks.filter((_check, i) => dependencies[i]?.online !== 'yes');
  const vital = broken.some((check) => check.vital);
  return { status: vital ? 'unhealthy' : broken.length > 0 ? 'degraded' : 'healthy', dependencies };
}

/** A dependency that cannot be reached is `unknown`; one that answers with an error is `no`. */
async function probe({ name, probe }: HealthCheck, clock: Clock): Promise<DependencyHealth> {
  const late = (): Error => transient(`no response within ${PROBE_MS} ms`, { unreachable: true });
  using limit = deadline(clock, PROBE_MS, undefined, late);
  try {
    await unlessAborted(probe(limit.signal), limit.signal);
    return { name, reachable: true, online: 'yes' };
  } catch (error) {
    const unreachable = error instanceof Failure && error.unreachable;
    // Anybody may read it, so locations are removed; the log has them. A foreign error may even contain a URL with a password.
    const message = error instanceof Failure ? withoutInternals(error.message) : 'the check failed';
    return { name, reachable: !unreachable, online: unreachable ? 'unknown' : 'no', message };
  }
}

/** Formats as `1d 2h 3m 4.567s`, without leading units that are zero. */
export function formatUptime(ms: number): string {
  const units = [
    [Math.floor(ms / 86_400_000), 'd'],
    [Math.floor(ms / 3_600_000) % 24, 'h'],
    [Math.floor(ms / 60_000) % 60, 'm'],
  ] as const;
  const first = units.findIndex(([count]) => count > 0);
  const whole = first < 0 ? [] : units.slice(first).map(([count, unit]) => `${count}${unit}`);
  return [...whole, `${((ms % 60_000) / 1000).toFixed(3)}s`].join(' ');
}

interface Dependency {
  readonly name: string;
  /** Resolves when the dependency answers. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** Whether the service cannot work without it; default true. */
  readonly vital?: boolean;
}

export interface HealthOptions {
  readonly version: string;
  readonly dependencies: readonly Dependency[];
  /** What operators have paused of the service. Default: nothing can be paused. */
  readonly paused?: () => readonly Pause[];
  readonly clock: Clock;
  /** Threads of this process. */
  readonly threads: () => number;
}

/** GET /health of the report and dataset access services, which have it among their own routes. */
export function healthRoute({ dependencies, ...parts }: HealthOptions): Route {
  const health = sharedHealth({ ...parts, checks: dependencies.map((one) => ({ vital: true, ...one })) });
  return {
    method: 'GET',
    audit: 'none',
    path: '/health',
    access: 'open',
    operationId: 'getHealth',
    summary: 'Shows the health of the service and its dependencies',
    responses: {
      200: answer('healthy; degraded or unhealthy when a dependency has a problem', Health),
      ...refusals({}),
    },
    handler: async (context) => context.json(200, await health()),
  };
}

// Checks that a program named in the configuration can be executed, for /health.

/**
 * @param program a path, or a name to look up in `path`
 * @param path colon-separated directories
 * @throws Failure `transient` when there is no such executable
 */
export async function findProgram(program: string, path: string): Promise<void> {
  const dirs = path.split(delimiter).filter(isAbsolute);
  const places = program.includes('/') ? [program] : dirs.map((dir) => join(dir, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return;
  }
  throw transient('it does not exist or is not executable');
}
