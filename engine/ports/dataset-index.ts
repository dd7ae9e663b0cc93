// Which datasets a database knows, page by page, for the daemons: in the order of the object store's keys, so that both
// sides can be merged in constant memory, or those that are on their way out.

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

/** Rows of a page, of which a database may make each only when it is read; an array is one. */
export type PageRows<Row> = Pick<readonly Row[], 'length' | 'at' | typeof Symbol.iterator>;

/** Datasets of a page as places in its bytes, for whoever compares millions and needs few. All may be longer than the page. */
export interface DatasetColumns {
  readonly bytes: Uint8Array;
  /**
   * Eight of each dataset: where its owner begins and ends; where its id, which begins one byte later, ends; where the etags
   * of its synced metadata and data begin and end; where what follows begins, which ends with {@link ends}: bytes that stand
   * for everything else, the same only where all of it is the same.
   */
  readonly places: Int32Array;
  readonly ends: Int32Array;
  /** Since 1970; NaN where never synced. */
  readonly metaMs: Float64Array;
  readonly dataMs: Float64Array;
}

export type DatasetPage = PageRows<IndexedDataset> & {
  /**
   * Some indexes have columns too, though not of every page.
   * @param spare columns that nobody looks at any more, in whose memory they may be made
   */
  readonly columns?: (spare?: DatasetColumns) => DatasetColumns | undefined;
};

export interface StoreOrdered<Row extends DatasetAddress, Page extends PageRows<Row> = PageRows<Row>> {
  /**
   * Up to `limit` rows (1..10,000) after the given address, in bytewise order of `{owner}/{dataset}/`, which is the order
   * of the store's keys. Fewer than `limit` rows = the end.
   */
  page(after: DatasetAddress | undefined, limit: number, signal: AbortSignal): Promise<Page>;
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

export interface DatasetIndex extends StoreOrdered<IndexedDataset, DatasetPage> {
  /** Up to `limit` datasets of the state with ids after `after`, in order of their ids. */
  retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]>;
  /**
   * From `deleted` to `pruning`, the point of no return: whoever wants a deletion back finds it gone from here on. False
   * when the dataset is not `deleted` (any more).
   */
  beginPruning(dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
}
