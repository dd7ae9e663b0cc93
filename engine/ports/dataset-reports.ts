// What administrators read about all datasets, whoever owns them. Everything comes page by page, each page from a short
// statement: nothing is held while the reader is slow, and memory does not grow with the listing. A concurrent change may or
// may not show, but nothing is listed twice.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetType } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import { IMPORT_STATUSES, type InstallStatus } from '../model/status.ts';
import type { DatasetRecord } from './catalog.ts';

export interface ReportFilter {
  /** Only datasets that have this install target; case is ignored. */
  readonly target?: string;
  /** Include datasets marked deleted. */
  readonly includeDeleted: boolean;
}

export interface ReportPage {
  /** Absent = all. */
  readonly limit?: number;
  readonly offset: number;
}

export interface FailedImportFilter {
  readonly owner?: UserId;
  /** Created before this time. */
  readonly before?: Date;
  /** Created at this time or later. */
  readonly after?: Date;
  readonly order: 'asc' | 'desc';
}

export interface FailedImport extends DatasetAddress {
  readonly type: DatasetType;
  readonly installTargets: readonly TargetId[];
  readonly messages: readonly string[];
}

/** One dataset, with the time at which the cache first recorded it. */
export interface ReportedDataset extends DatasetRecord {
  readonly inserted: Date;
}

/** Statuses of installs that only a person, or time, can fix. */
export type StuckStatus = Extract<InstallStatus, 'failed-installation' | 'missing-dependency'>;

/** A dataset's progress in one status: its upload until that succeeded, then its import, then what ended it. */
export const DATASET_STATUSES = [
  ...(['upload-running', 'upload-rejected', 'upload-failed'] as const),
  ...IMPORT_STATUSES,
  ...(['superseded', 'deleting', 'deleted', 'pruning'] as const),
] as const;
export type DatasetStatus = (typeof DATASET_STATUSES)[number];

export interface DatasetReports {
  /** Datasets that the filter lets through. */
  count(filter: ReportFilter, signal: AbortSignal): Promise<number>;
  /** In order of creation, then of ids. */
  all(filter: ReportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<DatasetRecord>;
  /** In any state but `receiving`. */
  find(dataset: DatasetId, signal: AbortSignal): Promise<ReportedDataset | undefined>;
  /** Live datasets whose import status is `failed`, in ascending or descending order of creation. */
  failedImports(filter: FailedImportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<FailedImport>;
  /**
   * Live datasets for which the mirror has the status for at least one target and kind, each once. In order of targets, then of
   * ids; a dataset comes with the first of its targets.
   */
  stuckInstalls(status: StuckStatus, signal: AbortSignal): AsyncIterable<DatasetRecord>;
  /** How many datasets have each status; a status without datasets may be missing. */
  statuses(signal: AbortSignal): Promise<ReadonlyMap<DatasetStatus, number>>;
}
