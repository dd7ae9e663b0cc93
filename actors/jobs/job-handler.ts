// What a lane does with one job. Handlers keep no state between jobs. Everything that is needed after a crash is in the stores
// that they write.

import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';

export interface JobHandler {
  readonly lane: LaneName;
  /** Resolves with `done`, or with a `retry` that the handler decided itself. Otherwise throws a Failure. Idempotent. */
  run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome>;
  /**
   * Makes a failed attempt visible to the dataset's owner before the outcome is written. If this fails, the job is retried, so
   * that no job is declared dead without its owner seeing why.
   */
  report(
    job: ClaimedJob,
    outcome: JobOutcome & { readonly kind: 'retry' | 'dead' },
    signal: AbortSignal,
  ): Promise<void>;
}

export const DONE: JobOutcome = { kind: 'done' };
