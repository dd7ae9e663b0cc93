// GET /health of reports and dataset access, among their own routes. The shape is that of every service (ops.ts).

import type { Clock } from '../../../engine/runtime/time.ts';
import { Health, sharedHealth } from './ops.ts';
import { answer, refusals } from './responses.ts';
import type { Route } from './route.ts';

export interface Dependency {
  readonly name: string;
  /** Resolves when the dependency answers. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** Whether the service can do nothing without it; default true. */
  readonly vital?: boolean;
}

export interface HealthOptions {
  readonly version: string;
  readonly dependencies: readonly Dependency[];
  readonly clock: Clock;
  /** Threads of this process. */
  readonly threads: () => number;
}

export function healthRoute({ dependencies, ...parts }: HealthOptions): Route {
  const health = sharedHealth({ ...parts, checks: dependencies.map((one) => ({ vital: true, ...one })) });
  return {
    method: 'GET',
    audit: 'none',
    path: '/health',
    access: 'open',
    operationId: 'getHealth',
    summary: 'What works and what does not',
    responses: {
      200: answer('healthy; degraded or unhealthy when a dependency has a problem', Health),
      ...refusals({}),
    },
    handler: async (context) => context.json(200, await health()),
  };
}
