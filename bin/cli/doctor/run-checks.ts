// Runs checks side by side, each under a deadline, and says of each how it went.

import { Failure, messageOf, transient } from '../../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import { type Check, type Findings, fault, type Problem } from './check.ts';
import { codeOf } from './error-codes.ts';

export interface Diagnosis {
  readonly name: string;
  readonly where: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly tookMs: number;
  readonly tried: string;
  readonly says?: string;
  readonly problems: readonly Problem[];
}

const LOOK_MS = 10_000;

/** In the order of the checks. Rejects when the signal aborts, with its reason. */
export function runChecks(checks: readonly Check[], clock: Clock, signal: AbortSignal): Promise<readonly Diagnosis[]> {
  return Promise.all(checks.map((check) => diagnose(check, clock, signal)));
}

async function diagnose(check: Check, clock: Clock, signal: AbortSignal): Promise<Diagnosis> {
  const { name, tried } = check;
  const began = clock.now();
  const { where = check.where, says, problems } = await findings(check, clock, signal);
  const failed = problems.some(({ severity }) => severity === 'fault');
  return {
    name,
    where,
    status: failed ? 'failed' : problems.length > 0 ? 'warning' : 'ok',
    tookMs: Math.round(clock.now() - began),
    tried,
    ...(says === undefined ? {} : { says }),
    problems,
  };
}

async function findings(check: Check, clock: Clock, signal: AbortSignal): Promise<Findings> {
  const late = transient(`no answer within ${LOOK_MS / 1000} s`, { unreachable: true });
  using limit = deadline(clock, LOOK_MS, signal, () => late);
  try {
    return await unlessAborted(check.look(limit.signal), limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error === late)
      return {
        problems: [
          fault(
            late.message,
            'it hangs, is overloaded, or a firewall on the way drops packets: try it by hand from here',
          ),
        ],
      };
    return { problems: [fault(wordsOf(error), check.explain(error))] };
  }
}

/** Our own words; of a foreign error, which may hold an address with a password, its name and code alone. */
function wordsOf(error: unknown): string {
  if (error instanceof Failure) return messageOf(error);
  const code = codeOf(error);
  const name = error instanceof Error ? error.name : 'unknown';
  return `the check failed (${code === undefined ? name : code})`;
}
