// What becomes of a job that threw: the failure's kind decides, and for transient ones the tries that are left.

import { kindOf, messageOf } from '../engine/failure.ts';
import type { ClaimedJob, JobOutcome } from '../engine/ports/jobs.ts';
import { afterFailure, type Random, type RetryPolicy } from '../engine/retry.ts';

/** A failure that is not worth all tries of the lane, such as a plugin's own server error. */
export interface FewTries {
  readonly maxTries: number;
}

/** The message of a retry is what the dataset's owner reads meanwhile: which try it was, and why it failed. */
export function decideOutcome(
  error: unknown,
  job: Pick<ClaimedJob, 'tries'>,
  policy: RetryPolicy,
  random: Random,
): JobOutcome {
  const kind = kindOf(error);
  const message = messageOf(error);
  switch (kind) {
    case 'aborted':
      return { kind: 'requeue', crashed: (error as { crashed?: unknown }).crashed === true };
    case 'rejected':
    case 'defect':
      return { kind: 'dead', failure: kind, message };
    case 'transient': {
      const tries = Math.min(policy.tries, (error as Partial<FewTries>).maxTries ?? policy.tries);
      const next = afterFailure({ ...policy, tries }, job.tries, error, random);
      if (next.kind === 'give-up') return { kind: 'dead', failure: 'transient', message };
      const { delayMs, countTry } = next;
      return { kind: 'retry', delayMs, message: `try ${job.tries + 1} of ${tries}: ${message}`, countTry };
    }
    default:
      return kind satisfies never;
  }
}
