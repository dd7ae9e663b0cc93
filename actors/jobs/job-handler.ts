// What a lane does with one job. Handlers hold no state between jobs; everything they need to survive a crash is in
// the stores they write.

import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';

export interface JobHandler {
  readonly lane: LaneName;
  /** Resolves with `done`, or with a `retry` it decided itself; throws a Failure otherwise. Safe to run again. */
  run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome>;
  /**
   * Makes the outcome of a failed run visible to the dataset's owner, before the outcome is written. When this
   * fails, the job is tried again instead of being given up unseen.
   */
  report(
    job: ClaimedJob,
    outcome: JobOutcome & { readonly kind: 'retry' | 'dead' },
    signal: AbortSignal,
  ): Promise<void>;
}

export const DONE: JobOutcome = { kind: 'done' };
