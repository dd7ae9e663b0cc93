// The job table as an administrator sees it: which jobs wait, run, are delayed or dead, and how to retry them.

import type { LaneName } from '../model/event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';

/** States of a job row; jobs.ts describes the transitions. */
export const JOB_STATES = ['queued', 'running', 'delayed', 'dead'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobEntry {
  readonly id: number;
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  readonly state: JobState;
  /** Attempts that failed so far. */
  readonly tries: number;
  /** The newest event that requested the job. */
  readonly eventId: number;
  /** Why the last attempt failed; undefined when none did. */
  readonly message: string | undefined;
  /** The earliest time at which the job may run, or could have run; undefined when it is dead. */
  readonly runAt: Date | undefined;
  readonly created: Date;
}

/** Absent fields do not filter. */
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
  /** Jobs that match the filter, on all pages. */
  readonly total: number;
}

/** `running`: nothing was changed. */
export type RetryResult = 'queued' | 'not-found' | 'running';

export interface JobAdmin {
  /** In order of creation. */
  list(filter: JobFilter, page: JobPage, signal: AbortSignal): Promise<JobList>;
  /**
   * Puts a delayed or dead job back into its lane's queue with all its attempts available, and wakes the lane. Also resets, in
   * the same step, what would leave the lane nothing to do: a failed import or upload status of the dataset for the lane of
   * that name; waiting attempts on install targets for install (data) and updateMeta (meta). A job that is already queued is
   * unchanged.
   */
  retry(id: number, signal: AbortSignal): Promise<RetryResult>;
  /**
   * Like {@link retry} for the dataset's job in the lane if it is dead, because an event is only noted on a dead job. False
   * when there is no such job, or it is not dead.
   */
  revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
}
