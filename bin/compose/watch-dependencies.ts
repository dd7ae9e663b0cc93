// Probes every dependency four times a minute, for `longshore_dependency_up` and for the log, which reports when a dependency
// becomes unavailable and when it is back. The first probe is right after startup.

import type { ChildSpec } from '../../engine/runtime/child.ts';
import { Failure, messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';

export interface WatchParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const NAME = 'dependencyWatch';
const PERIOD_MS = 15_000;
const PROBE_MS = 10_000;
const VITAL_AWAY = 'a dependency is unavailable; the service cannot work until it is back';
const OTHER_AWAY = 'a dependency is unavailable; the service is degraded until it is back';

export function dependencyWatch(checks: readonly HealthCheck[], { clock, log, metrics }: WatchParts): ChildSpec {
  const gauge = metrics.gauge('dependency_up', '1 while the dependency responds.', ['dependency']);
  const away = new Set<string>();
  const look = async (check: HealthCheck, signal: AbortSignal): Promise<void> => {
    const reason = await reasonAway(check, clock, signal);
    if (signal.aborted) return;
    const { name } = check;
    gauge.set({ dependency: name }, reason === undefined ? 1 : 0);
    if (reason !== undefined && !away.has(name))
      log.warn({ dependency: name, reason }, check.vital ? VITAL_AWAY : OTHER_AWAY);
    else if (reason === undefined && away.has(name)) log.info({ dependency: name }, 'a dependency is back');
    if (reason === undefined) away.delete(name);
    else away.add(name);
  };
  const runOnce = async (signal: AbortSignal): Promise<void> => {
    await Promise.all(checks.map((check) => look(check, signal)));
  };
  const create = (): Timer<void> =>
    new Timer<void>({ name: NAME, periodMs: PERIOD_MS, firstMs: 0, runOnce, clock, log, metrics });
  return { name: NAME, create };
}

/** Undefined when it responds. */
async function reasonAway({ probe }: HealthCheck, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  using limit = deadline(clock, PROBE_MS, signal, () => transient(`no response within ${PROBE_MS / 1000} s`));
  try {
    await unlessAborted(probe(limit.signal), limit.signal);
    return undefined;
  } catch (error) {
    // Only messages of our own failures: others may contain a URL with a password.
    return error instanceof Failure ? messageOf(error) : 'the check failed';
  }
}
