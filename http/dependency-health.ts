// GET /health in the form of contract 3. Whoever asks while the probes run gets their result.

import { Failure, transient } from '../engine/failure.ts';
import { type Clock, deadline } from '../engine/time.ts';
import { unlessAborted } from '../engine/wait.ts';
import { answer, refusals } from './responses.ts';
import type { Route } from './route.ts';
import { Type } from './schema-node.ts';

export interface Dependency {
  readonly name: string;
  /** Resolves when the dependency answers. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

export interface HealthOptions {
  readonly dependencies: readonly Dependency[];
  readonly clock: Clock;
  /** Threads of this process. */
  readonly threads: () => number;
}

const Health = Type.Object({
  status: Type.Enum(['healthy', 'unhealthy']),
  dependencies: Type.Array(
    Type.Object({ name: Type.String(), reachable: Type.Boolean(), online: Type.Enum(['yes', 'unknown', 'no']) }),
  ),
  info: Type.Object({
    threads: Type.Integer({ minimum: 1 }),
    uptime: Type.String(),
    uptimeMillis: Type.Integer({ minimum: 1 }),
  }),
});

interface DependencyState {
  readonly name: string;
  readonly reachable: boolean;
  readonly online: 'yes' | 'unknown' | 'no';
}

const PROBE_MS = 2_000;

export function healthRoute(options: HealthOptions): Route {
  const startedAt = options.clock.now();
  let running: Promise<readonly DependencyState[]> | undefined;
  const probeAll = (): Promise<readonly DependencyState[]> => {
    running ??= Promise.all(options.dependencies.map((one) => probe(one, options.clock))).finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    method: 'GET',
    path: '/health',
    access: 'open',
    operationId: 'getHealth',
    summary: 'What works and what does not',
    responses: { 200: answer('healthy, or unhealthy when a dependency has a problem', Health), ...refusals({}) },
    handler: async (context) => {
      const dependencies = await probeAll();
      const uptimeMillis = Math.max(1, Math.round(options.clock.now() - startedAt));
      await context.json(200, {
        status: dependencies.every(({ online }) => online === 'yes') ? 'healthy' : 'unhealthy',
        dependencies,
        info: { threads: options.threads(), uptime: formatUptime(uptimeMillis), uptimeMillis },
      });
    },
  };
}

/** One that does not answer may be well; one that answers with an error is not. */
async function probe({ name, probe }: Dependency, clock: Clock): Promise<DependencyState> {
  const late = (): Error => transient(`no answer within ${PROBE_MS} ms`, { unreachable: true });
  using limit = deadline(clock, PROBE_MS, undefined, late);
  try {
    await unlessAborted(probe(limit.signal), limit.signal);
    return { name, reachable: true, online: 'yes' };
  } catch (error) {
    const unreachable = error instanceof Failure && error.unreachable;
    return { name, reachable: !unreachable, online: unreachable ? 'unknown' : 'no' };
  }
}

/** `1d 2h 3m 4.567s` without the leading units that are zero. */
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
