// When to try again: exponential back-off with full jitter above a floor, and a number of tries. Only `transient`
// failures are worth it; an unreachable dependency delays without using up a try.

import { Failure, kindOf } from './failure.ts';
import type { Clock } from './time.ts';

export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly tries: number;
  /** The first delay is between this and twice this. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/** From 0 (included) to 1 (excluded), like Math.random. */
export type Random = () => number;

export type Retry =
  | { readonly kind: 'again'; readonly delayMs: number; readonly countTry: boolean }
  | { readonly kind: 'give-up' };

/** The delay after `failures` (1 or more) failures in a row: between baseMs and min(maxMs, baseMs * 2^failures). */
export function backoffMs(policy: Omit<RetryPolicy, 'tries'>, failures: number, random: Random): number {
  const floor = Math.min(policy.baseMs, policy.maxMs);
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** Math.min(failures, 40));
  return Math.round(floor + random() * (ceiling - floor));
}

/** Tries in all that the policy gives to an error, which may be worth fewer of them. */
export function triesFor(policy: Pick<RetryPolicy, 'tries'>, error: unknown): number {
  return Math.min(policy.tries, (error instanceof Failure ? error.maxTries : undefined) ?? policy.tries);
}

/** What follows when a try ended in `error` and `failedBefore` tries had failed before it. */
export function afterFailure(policy: RetryPolicy, failedBefore: number, error: unknown, random: Random): Retry {
  if (kindOf(error) !== 'transient') return { kind: 'give-up' };
  const countTry = !(error instanceof Failure && error.unreachable);
  if (countTry && failedBefore + 1 >= triesFor(policy, error)) return { kind: 'give-up' };
  return { kind: 'again', delayMs: backoffMs(policy, failedBefore + 1, random), countTry };
}

/** The delays of something that is tried for as long as it is wanted; a success starts them over. */
export class Backoff {
  readonly #policy: Omit<RetryPolicy, 'tries'>;
  readonly #random: Random;
  #failures = 0;

  constructor(policy: Omit<RetryPolicy, 'tries'>, random: Random = Math.random) {
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
 * Runs `attempt` until it succeeds, fails for good, or has used up its tries; then its own error is thrown. Unreachable
 * dependencies are waited for until the signal aborts, with growing delays.
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
      if (next.countTry) counted++;
      await clock.sleep(backoff.failed(), signal);
    }
  }
}
