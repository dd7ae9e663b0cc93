// The job table as an administrator sees it: what waits, runs, is delayed or dead, and having it tried again.

import type { LaneName } from '../model/event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';

/** States of a job row; what moves a job between them is in jobs.ts. */
export const JOB_STATES = ['queued', 'running', 'delayed', 'dead'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobEntry {
  readonly id: number;
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  readonly state: JobState;
  /** Tries that failed so far. */
  readonly tries: number;
  /** The newest event that asked for the job. */
  readonly eventId: number;
  /** Why the last try failed; undefined when none did. */
  readonly message: string | undefined;
  /** From when on the job may run, or might have; undefined when it is dead. */
  readonly runAt: Date | undefined;
  readonly created: Date;
}

/** What is absent does not narrow. */
export interface JobFilter {
  readonly lane?: LaneName;
  readonly state?: JobState;
}

export interface JobPage {
  readonly limit: number;
  readonly offset: number;
}

export interface JobList {
  readonly jobs: readonly JobEntry[];
  /** Jobs that the filter lets through, on this page or not. */
  readonly total: number;
}

/** `running`: nothing was changed. */
export type RetryResult = 'queued' | 'not-found' | 'running';

export interface JobAdmin {
  /** In the order in which the jobs were made. */
  list(filter: JobFilter, page: JobPage, signal: AbortSignal): Promise<JobList>;
  /**
   * Puts a delayed or dead job back into its lane's queue with all its tries before it, and wakes the lane. In the same
   * step it opens what would else leave the lane nothing to do: a failed import or upload status of the dataset for the
   * lane of that name; waiting attempts on install targets for install (data) and updateMeta (meta).
   * A job that is queued already is left as it is.
   */
  retry(id: number, signal: AbortSignal): Promise<RetryResult>;
  /**
   * As {@link retry} for the dataset's job of the lane if it is dead: an event is only noted on a dead job. False when it
   * is not dead, or there is none.
   */
  revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
}
