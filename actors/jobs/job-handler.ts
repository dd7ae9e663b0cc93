// What a lane does with one job. Handlers keep no state between jobs. Everything that is needed after a crash is in the stores
// that they write.

import type { LaneName } from '../../engine/model/event.ts';
import { type ClaimedJob, CRASHES_ALONE, type JobOutcome } from '../../engine/ports/jobs.ts';
import { evidenceOf, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import { fixedText } from '../../engine/runtime/owner-text.ts';
import { afterFailure, attemptsFor, type Random, type RetryPolicy } from '../../engine/runtime/retry.ts';
import { Paused } from '../pauses/paused-work.ts';

/** Of an attempt that failed: the job is retried, or dead. */
export type FailedOutcome = JobOutcome & {
  readonly kind: 'retry' | 'dead';
  /** What the dataset's owner reads; default: the message without internals (engine/runtime/owner-text.ts). */
  readonly forOwner?: string;
};
type Requeued = JobOutcome & { readonly kind: 'requeue' };

export interface JobHandler {
  readonly lane: LaneName;
  /**
   * Resolves with `done`; with `failed` or `invalid` once the dataset's status says so; or with a `retry` that the handler
   * decided itself. Otherwise throws a Failure. Idempotent.
   */
  run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome>;
  /**
   * Makes a failed attempt visible to the dataset's owner before the outcome is written. If this fails, the job is retried, so
   * that no job is declared dead without its owner seeing why.
   */
  report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void>;
}

export const DONE: JobOutcome = { kind: 'done' };

// Decides the outcome of a failed job: by the kind of the failure and, for transient failures, by the attempts that are left.
// Crash blame (docs/design/decisions.md#from-a-change-to-a-job): a job whose thread crashed runs alone from then on. Three
// crashes while it runs alone are its own fault.

/** The input to the decision. `alone` and `crashes` matter only for tasks that run in threads. */
type AttemptedJob = Pick<ClaimedJob, 'attempts'> & Partial<Pick<ClaimedJob, 'alone' | 'crashes'>>;

/** The message of a retry says which attempt failed, and why. */
export function decideOutcome(
  error: unknown,
  job: AttemptedJob,
  policy: RetryPolicy,
  random: Random,
): FailedOutcome | Requeued {
  const kind = kindOf(error);
  const message = messageOf(error);
  const text = fixedText(error);
  const told = { ...evidenceOf(error), ...(text === undefined ? {} : { forOwner: text }) };
  switch (kind) {
    case 'aborted':
      return afterAbort((error as { crashed?: unknown }).crashed === true, message, job);
    case 'rejected':
    case 'defect':
      return { kind: 'dead', failure: kind, message, ...told };
    case 'transient': {
      // The longest delay will do: when the pause ends, the job is due at once.
      if (error instanceof Paused) return { kind: 'retry', delayMs: policy.maxMs, message, countsAttempt: false };
      const next = afterFailure(policy, job.attempts, error, random);
      if (next.kind === 'give-up') return { kind: 'dead', failure: 'transient', message, ...told };
      const { delayMs, countsAttempt } = next;
      const count = `attempt ${job.attempts + 1} of ${attemptsFor(policy, error)}`;
      const forOwner = text === undefined ? {} : { forOwner: `${count}: ${text}` };
      return { kind: 'retry', delayMs, message: `${count}: ${message}`, countsAttempt, ...told, ...forOwner };
    }
    default:
      return kind satisfies never;
  }
}

/** The job table also counts crashes, but it cannot notify the dataset's owner or say why the thread crashed. */
function afterAbort(
  crashed: boolean,
  message: string,
  { alone = false, crashes = 0 }: AttemptedJob,
): FailedOutcome | Requeued {
  if (!crashed || !alone || crashes + 1 < CRASHES_ALONE) return { kind: 'requeue', crashed };
  const count = `its worker crashed ${CRASHES_ALONE} times while the job ran alone`;
  return { kind: 'dead', failure: 'defect', message: `${count}: ${message}` };
}
