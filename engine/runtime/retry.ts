// When to retry: exponential back-off with full jitter above a floor, and a maximum number of attempts. Only `transient`
// failures are retried; an unreachable dependency delays without using up an attempt.

import { Failure, kindOf } from './failure.ts';
import type { Clock } from './time.ts';

export interface Delays {
  /** The first delay is between this and twice this. */
  readonly baseMs: number;
  readonly maxMs: number;
}

export interface RetryPolicy extends Delays {
  /** Total attempts, the first included. */
  readonly attempts: number;
}

/** Delays of attempts without a limit. Lanes and the event log's publisher take theirs from the configuration. */
export const DELAYS = {
  /** A check of a dependency before the process starts. */
  start: { baseMs: 100, maxMs: 2_000 },
  /** A database that does not answer while the process runs. */
  database: { baseMs: 100, maxMs: 10_000 },
  /** A batch that was refused, and the session that fetches batches. */
  batch: { baseMs: 100, maxMs: 30_000 },
  /** A child of a supervisor. */
  child: { baseMs: 200, maxMs: 30_000 },
  /** An attempt that costs a thread, or that pauses all other members of a consumer group. */
  costly: { baseMs: 500, maxMs: 30_000 },
} as const satisfies Readonly<Record<string, Delays>>;

/** Policies of work for which none is configured. */
export const RETRIES = {
  /** A report job, when the store or a database fails. If one is unreachable, attempts are not counted. */
  report: { attempts: 5, baseMs: 1_000, maxMs: 60_000 },
  /** A mail that is written to a folder. */
  localMail: { attempts: 10, baseMs: 1_000, maxMs: 60_000 },
  /** The row with the state of a handler job. */
  handlerRecord: { attempts: 20, baseMs: 100, maxMs: 5_000 },
  /** The row that records that a mail was sent. Without it, the mail would be sent twice. */
  mailRecord: { attempts: 100, baseMs: 200, maxMs: 5_000 },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** From 0 (included) to 1 (excluded), like Math.random. */
export type Random = () => number;

type Retry =
  | { readonly kind: 'again'; readonly delayMs: number; readonly countsAttempt: boolean }
  | { readonly kind: 'give-up' };

/** The delay after `failures` (1 or more) consecutive failures: between baseMs and min(maxMs, baseMs * 2^failures). */
export function backoffMs(policy: Delays, failures: number, random: Random): number {
  const floor = Math.min(policy.baseMs, policy.maxMs);
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** Math.min(failures, 40));
  return Math.round(floor + random() * (ceiling - floor));
}

/** Total attempts that the policy allows for an error; the error may allow fewer. */
export function attemptsFor(policy: Pick<RetryPolicy, 'attempts'>, error: unknown): number {
  return Math.min(policy.attempts, (error instanceof Failure ? error.maxAttempts : undefined) ?? policy.attempts);
}

/** What to do after an attempt failed with `error` and `failedBefore` attempts had failed before it. */
export function afterFailure(policy: RetryPolicy, failedBefore: number, error: unknown, random: Random): Retry {
  if (kindOf(error) !== 'transient') return { kind: 'give-up' };
  const countsAttempt = !(error instanceof Failure && error.unreachable);
  if (countsAttempt && failedBefore + 1 >= attemptsFor(policy, error)) return { kind: 'give-up' };
  return { kind: 'again', delayMs: backoffMs(policy, failedBefore + 1, random), countsAttempt };
}

/** Delays for something that is retried indefinitely; a success resets them. */
export class Backoff {
  readonly #policy: Delays;
  readonly #random: Random;
  #failures = 0;

  constructor(policy: Delays, random: Random = Math.random) {
    this.#policy = policy;
    this.#random = random;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  failed(): number {
    this.#failures++;
    return backoffMs(this.#policy, this.#failures, this.#random);
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

/**
 * Runs `attempt` until it succeeds, fails permanently, or has used up its attempts; then throws its last error. Unreachable
 * dependencies are retried with growing delays until the signal aborts.
 */
export async function retrying<T>(
  policy: RetryPolicy,
  clock: Clock,
  attempt: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  random: Random = Math.random,
): Promise<T> {
  const backoff = new Backoff(policy, random);
  for (let counted = 0; ; ) {
    try {
      return await attempt(signal);
    } catch (error) {
      const next = afterFailure(policy, counted, error, random);
      if (next.kind === 'give-up' || signal.aborted) throw error;
      if (next.countsAttempt) counted++;
      await clock.sleep(backoff.failed(), signal);
    }
  }
}

/**
 * Runs `attempt` until it succeeds, with no limit on attempts; undefined when the signal aborts first. `failed` is called with
 * every error, and throws to end the attempts. An attempt that works for a while should reset the delays itself.
 */
export async function persisting<T>(
  delays: Delays,
  clock: Clock,
  attempt: (backoff: Backoff) => Promise<T>,
  failed: (error: unknown) => void,
  signal: AbortSignal,
): Promise<T | undefined> {
  const backoff = new Backoff(delays);
  while (!signal.aborted) {
    try {
      return await attempt(backoff);
    } catch (error) {
      if (signal.aborted) break;
      failed(error);
    }
    await clock.sleep(backoff.failed(), signal).catch(() => undefined);
  }
  return undefined;
}
