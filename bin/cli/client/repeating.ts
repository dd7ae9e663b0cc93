// Repeats a call while the server is away. The call has to be safe to repeat: it has an idempotency key, or it continues
// something.

import { Failure } from '../../../engine/runtime/failure.ts';
import { Backoff, DELAYS } from '../../../engine/runtime/retry.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { ApiError } from '../command.ts';

/** Failures in a row; the delays add up to five minutes. */
export const ATTEMPTS = 15;
/** A server that asks for a longer pause is not waited for. */
const LONGEST_PAUSE_MS = 60_000;
const AGAIN: readonly number[] = [408, 423, 429, 500, 502, 503, 504];
/** Codes of a connection that was lost after it had been there. */
const LOST: readonly unknown[] = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

export function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof Failure && error.kind === 'transient';
  const { status, retryAfterMs } = error;
  if ((retryAfterMs ?? 0) > LONGEST_PAUSE_MS) return false;
  // With a time, another request is under way, which has the same key or a claim on the same upload. Without, it stays a conflict.
  return status === 409 ? retryAfterMs !== undefined : AGAIN.includes(status);
}

/** At least as long as the server asks for. */
export const delayAfter = (error: unknown, backoff: Backoff): number =>
  Math.max(backoff.failed(), (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 0);

/** The request may have arrived, and only its answer was lost. */
export function isLost(error: unknown): boolean {
  const cause =
    error instanceof Failure ? (error.cause as { readonly cause?: { readonly code?: unknown } }) : undefined;
  return LOST.includes(cause?.cause?.code);
}

/** @param first whether the first failure is one to repeat after; default: one that may pass */
export async function repeating<Result>(
  call: () => Promise<Result>,
  clock: Clock,
  signal: AbortSignal,
  first: (error: unknown) => boolean = isPassing,
): Promise<Result> {
  const backoff = new Backoff(DELAYS.batch);
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const mayPass = backoff.failures === 0 ? first(error) : isPassing(error);
      if (signal.aborted || !mayPass || backoff.failures + 1 >= ATTEMPTS) throw error;
      await clock.sleep(delayAfter(error, backoff), signal);
    }
  }
}
