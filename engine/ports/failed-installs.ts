// What front ends may ask about installs that failed permanently: to retry them, and the progress of that. One run at a time
// per process. Runs of two processes do not conflict, because each dataset is handled under its lease.

import type { DatasetId, TargetId } from '../model/ids.ts';

export interface InstallPlace {
  readonly dataset: DatasetId;
  readonly target: TargetId;
}

export interface ClearOrder {
  /** Which installs to look at; only those that failed, or miss a dependency, are cleared. */
  readonly places: 'all' | readonly InstallPlace[];
  /** True: the lanes are told. False: cleared installs wait for the next event or full run. */
  readonly run: boolean;
}

/** Why an install is left unchanged. */
export const CLEAR_SKIPS = [
  /** A lane is working on the dataset. */
  'busy',
  /** It has not failed, or not any more. */
  'not-failed',
  /** Its install target is disabled or unknown. */
  'target-disabled',
  /** Its install target does not answer. */
  'target-away',
] as const;
export type ClearSkip = (typeof CLEAR_SKIPS)[number];

/** A run in progress: what it has done so far. */
export interface ClearRun {
  readonly startedAt: Date;
  readonly run: boolean;
  /** Datasets looked at. */
  readonly datasets: number;
  /** Installs (of one kind on one target) that may now be retried. */
  readonly cleared: number;
  /** Jobs that will retry them. */
  readonly jobs: number;
  readonly skipped: Readonly<Partial<Record<ClearSkip, number>>>;
  /** Datasets that could not be handled; the log says why. */
  readonly failures: number;
  /** Why the run ended early. */
  readonly failure: string | undefined;
}

export interface ClearReport extends ClearRun {
  readonly endedAt: Date;
}

export interface FailedInstalls {
  /** Of this process, like the last report; undefined while no run is in progress. */
  readonly current: ClearRun | undefined;
  /** Undefined before the first run has ended. */
  readonly lastReport: ClearReport | undefined;
  /** `running`: a run is in progress, nothing was ordered. Fails as `transient` while the process starts or stops. */
  clear(order: ClearOrder): 'started' | 'running';
}
