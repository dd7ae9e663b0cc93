// Which datasets a database knows, page by page, for the daemons. Pages come in the order of the object store's keys, so that
// both sides can be merged in constant memory. Datasets on their way to deletion can be listed, too.

import type { DatasetId, TargetId } from '../model/ids.ts';
import type { DatasetType } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { DatasetState, ImportStatus, UploadStatus } from '../model/status.ts';
import type { ObjectVersion, SyncPart } from './catalog.ts';
import type { ControlState } from './install-target.ts';

/** A dataset as the cache DB knows it. */
export interface IndexedDataset extends DatasetAddress {
  readonly state: DatasetState;
  readonly type: DatasetType;
  readonly installTargets: readonly TargetId[];
  readonly upload: UploadStatus;
  readonly import: ImportStatus;
  readonly sync: Readonly<Partial<Record<SyncPart, ObjectVersion>>>;
}

/** A dataset as one install target knows it. */
export interface InstalledDataset extends DatasetAddress {
  readonly control: ControlState;
}

export interface StoreOrdered<Row extends DatasetAddress> {
  /**
   * Up to `limit` rows (1..10,000) after the given address, in bytewise order of `{owner}/{dataset}/`, which is the order of
   * the store's keys. Fewer than `limit` rows = the end.
   */
  page(after: DatasetAddress | undefined, limit: number, signal: AbortSignal): Promise<readonly Row[]>;
}

/** One per install target, beside its {@link InstallTarget}. */
export type TargetIndex = StoreOrdered<InstalledDataset>;

export const RETIRED_STATES = ['superseded', 'deleted', 'pruning'] as const;
export type RetiredState = (typeof RETIRED_STATES)[number];

/** A dataset that the pruner may have to remove or trim. */
export interface RetiredDataset extends DatasetAddress {
  readonly state: RetiredState;
  readonly installTargets: readonly TargetId[];
}

export interface DatasetIndex extends StoreOrdered<IndexedDataset> {
  /** Up to `limit` datasets in that state with ids after `after`, in order of their ids. */
  retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]>;
  /**
   * Moves a dataset from `deleted` to `pruning`, the point of no return: from here on a deletion can no longer be undone. False
   * when the dataset is not, or no longer, `deleted`.
   */
  beginPruning(dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
}
