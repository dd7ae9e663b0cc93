// What front ends may ask about installs that failed for good: having them tried again, and how far that is. One run at a
// time per process; two processes do not get into each other's way, since each dataset is done under its lease.

import type { DatasetId, TargetId } from '../model/ids.ts';

export interface InstallPlace {
  readonly dataset: DatasetId;
  readonly target: TargetId;
}

export interface ClearOrder {
  /** Where installs are looked at; only those that failed, or miss a dependency, are cleared. */
  readonly places: 'all' | readonly InstallPlace[];
  /** The lanes are told; else what is cleared waits for the next event or full run. */
  readonly run: boolean;
}

/** Why an install stays as it is. */
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

/** A run under way: what it has done so far. */
export interface ClearRun {
  readonly startedAt: Date;
  readonly run: boolean;
  /** Datasets looked at. */
  readonly datasets: number;
  /** Installs (of one kind on one target) that may be tried again now. */
  readonly cleared: number;
  /** Jobs that will do that. */
  readonly jobs: number;
  readonly skipped: Readonly<Partial<Record<ClearSkip, number>>>;
  /** Datasets that could not be dealt with; why is in the log. */
  readonly failures: number;
  /** Why the run ended early. */
  readonly failure: string | undefined;
}

export interface ClearReport extends ClearRun {
  readonly endedAt: Date;
}

export interface FailedInstalls {
  /** Of this process, like the last report; undefined while none is under way. */
  readonly current: ClearRun | undefined;
  /** Undefined before the first run has ended. */
  readonly lastReport: ClearReport | undefined;
  /** `running`: one is under way, nothing was ordered. Fails as `transient` while the process starts or stops. */
  clear(order: ClearOrder): 'started' | 'running';
}
