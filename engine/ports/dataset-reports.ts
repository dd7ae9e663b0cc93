// What administrators read about all datasets, whoever owns them. Everything comes page by page, each page by a short
// statement: nothing is held while the reader takes its time, and memory does not grow with the listing. What changes
// meanwhile may be in it or not, but nothing is in it twice.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetType } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import { IMPORT_STATUSES, type InstallStatus } from '../model/status.ts';
import type { DatasetRecord } from './catalog.ts';

export interface ReportFilter {
  /** Only datasets that name this install target, in whatever case it is written. */
  readonly target?: string;
  /** Those marked deleted, too. */
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

/** One dataset, with when the cache came to know it. */
export interface ReportedDataset extends DatasetRecord {
  readonly inserted: Date;
}

/** Statuses of installs that only a person, or time, can mend. */
export type StuckStatus = Extract<InstallStatus, 'failed-installation' | 'missing-dependency'>;

/** How far a dataset is, in one word: its upload until that succeeded, then its import, then what ended it. */
export const DATASET_STATUSES = [
  ...(['upload-running', 'upload-rejected', 'upload-failed'] as const),
  ...IMPORT_STATUSES,
  ...(['superseded', 'deleting', 'deleted', 'pruning'] as const),
] as const;
export type DatasetStatus = (typeof DATASET_STATUSES)[number];

export interface DatasetReports {
  /** Datasets that the filter lets through. */
  count(filter: ReportFilter, signal: AbortSignal): Promise<number>;
  /** In the order of creation, and of ids where that is the same. */
  all(filter: ReportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<DatasetRecord>;
  /** In any state but `receiving`. */
  find(dataset: DatasetId, signal: AbortSignal): Promise<ReportedDataset | undefined>;
  /** Live datasets whose import status is `failed`, in the order of creation or against it. */
  failedImports(filter: FailedImportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<FailedImport>;
  /**
   * Live datasets for which the mirror has the status for at least one target and kind, each once. In the order of
   * targets and, for each, of ids; a dataset comes with the first of its targets.
   */
  stuckInstalls(status: StuckStatus, signal: AbortSignal): AsyncIterable<DatasetRecord>;
  /** How many datasets have each status; one that none has may be left out. */
  statuses(signal: AbortSignal): Promise<ReadonlyMap<DatasetStatus, number>>;
}
