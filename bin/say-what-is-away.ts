// Said once at start: which of the dependencies that are not waited for do not answer.

import { Failure, messageOf, transient } from '../engine/failure.ts';
import type { Logger } from '../engine/log.ts';
import { type Clock, deadline } from '../engine/time.ts';
import { unlessAborted } from '../engine/wait.ts';
import type { HealthCheck } from '../http/ops.ts';

const PROBE_MS = 10_000;

/** Never rejects. */
export async function sayWhatIsAway(
  checks: readonly HealthCheck[],
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const look = async ({ name, probe }: HealthCheck): Promise<void> => {
    const late = (): Error => transient(`no answer within ${PROBE_MS / 1000} s`);
    using limit = deadline(clock, PROBE_MS, signal, late);
    try {
      await unlessAborted(probe(limit.signal), limit.signal);
    } catch (error) {
      if (signal.aborted) return;
      // Only our own words: a foreign error may hold an address with a password.
      const reason = error instanceof Failure ? messageOf(error) : 'the check failed';
      log.warn({ dependency: name, reason }, 'a dependency is away; the service runs degraded until it is back');
    }
  };
  await Promise.all(checks.filter(({ vital }) => !vital).map(look));
}
