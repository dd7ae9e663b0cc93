// What every front end serves for its operators: /health, /ready, /metrics.

import { Failure, messageOf, transient } from '../engine/failure.ts';
import { type Clock, deadline } from '../engine/time.ts';
import { unlessAborted } from '../engine/wait.ts';
import type { Route } from './route.ts';

export interface HealthCheck {
  readonly name: string;
  /** Resolves when the dependency answers. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** Without it the service can do nothing: `unhealthy`; otherwise `degraded`. */
  readonly vital: boolean;
}

export interface OpsOptions {
  readonly version: string;
  readonly checks: readonly HealthCheck[];
  readonly ready: () => boolean;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  readonly clock: Clock;
}

const PROBE_MS = 2_000;
const READINESS = { type: 'object', properties: { ready: { type: 'boolean' } }, required: ['ready'] } as const;

export function opsRoutes(options: OpsOptions): readonly Route[] {
  const health = sharedHealth(options);
  return [
    {
      method: 'GET',
      path: '/health',
      access: 'open',
      operationId: 'getHealth',
      summary: 'What works and what does not',
      responses: { 200: { description: 'status is healthy, degraded or unhealthy', schema: { type: 'object' } } },
      handler: async (context) => context.json(200, await health()),
    },
    {
      method: 'GET',
      path: '/ready',
      access: 'open',
      operationId: 'getReady',
      summary: 'Whether requests are taken',
      responses: {
        200: { description: 'they are', schema: READINESS },
        503: { description: 'starting or stopping', schema: READINESS },
      },
      handler: async (context) => {
        const ready = options.ready();
        await context.json(ready ? 200 : 503, { ready });
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      access: 'open',
      operationId: 'getMetrics',
      summary: 'Metrics in the Prometheus text format',
      responses: { 200: { description: 'metrics', contentType: 'text/plain' } },
      handler: async (context) => context.text(200, options.metrics.contentType, await options.metrics.text()),
    },
  ];
}

export interface HealthReport {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  readonly version: string;
  readonly dependencies: Readonly<Record<string, { readonly status: string; readonly message?: string }>>;
}

/** Whoever asks while the probes run gets their result: anybody may ask, as often as they like. */
export function sharedHealth(options: Pick<OpsOptions, 'checks' | 'clock' | 'version'>): () => Promise<HealthReport> {
  let running: Promise<HealthReport> | undefined;
  return () => {
    running ??= probeAll(options).finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function probeAll({
  checks,
  clock,
  version,
}: Pick<OpsOptions, 'checks' | 'clock' | 'version'>): Promise<HealthReport> {
  const results = await Promise.all(
    checks.map(async (check) => {
      using limit = deadline(clock, PROBE_MS, undefined, () => transient(`no answer within ${PROBE_MS} ms`));
      try {
        await unlessAborted(check.probe(limit.signal), limit.signal);
        return { check, result: { status: 'healthy' } };
      } catch (error) {
        // Only our own words: a foreign error may hold an address with a password.
        const message = error instanceof Failure ? messageOf(error) : 'the check failed';
        return { check, result: { status: 'unhealthy', message } };
      }
    }),
  );
  const broken = results.filter(({ result }) => result.status !== 'healthy');
  const vital = broken.some(({ check }) => check.vital);
  return {
    status: vital ? 'unhealthy' : broken.length > 0 ? 'degraded' : 'healthy',
    version,
    dependencies: Object.fromEntries(results.map(({ check, result }) => [check.name, result])),
  };
}
