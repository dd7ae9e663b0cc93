// The lanes' view of the cache DB: one record per dataset, written under the dataset's lease. What the front ends read is in
// ports/dataset-queries.ts; how a dataset enters is in ports/uploads.ts.

import type { ArchiveObject } from '../model/digest.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType, FileEntry } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { DatasetState, ImportStatus, InstallKind, InstallStatus, UploadStatus } from '../model/status.ts';
import type { InstalledState } from './install-target.ts';
import type { JobRequest, Lease } from './jobs.ts';
import type { SettledObject } from './storage-room.ts';

/** Identifies an object's content; in sync = both are equal. */
export interface ObjectVersion {
  readonly modified: Date;
  readonly etag: string;
}

export const SYNC_PARTS = ['meta', 'data', 'shares'] as const;
export type SyncPart = (typeof SYNC_PARTS)[number];

export interface InstallRecord {
  readonly target: TargetId;
  readonly kind: InstallKind;
  readonly status: InstallStatus;
  readonly messages: readonly string[];
}

export interface DatasetRecord extends DatasetAddress {
  readonly state: DatasetState;
  readonly metadata: DatasetMetadata;
  readonly upload: { readonly status: UploadStatus; readonly message: string | undefined };
  /** Undefined until the upload succeeded. */
  readonly import: { readonly status: ImportStatus; readonly messages: readonly string[] } | undefined;
  /** A mirror of the statuses that the install targets keep. */
  readonly installs: readonly InstallRecord[];
  readonly sync: Readonly<Partial<Record<SyncPart, ObjectVersion>>>;
}

/** SHA-256 in hex, and the version of the object that it is of. */
export interface ObjectDigest {
  readonly etag: string;
  readonly sha256: string;
}

/** What owner and recipient said about one share; a field is absent until they said something. */
export interface StoredShare {
  readonly recipient: UserId;
  readonly offer?: 'grant' | 'revoke';
  readonly receipt?: 'accept' | 'reject';
}

export type CatalogChange =
  | { readonly set: 'upload'; readonly status: UploadStatus; readonly message?: string }
  | { readonly set: 'import'; readonly status: ImportStatus; readonly messages: readonly string[] }
  /** Replaces all files of the folder. */
  | {
      readonly set: 'uploadFiles' | 'installFiles' | 'documentFiles' | 'propertyFiles';
      readonly files: readonly FileEntry[];
    }
  | { readonly set: 'archive'; readonly object: ArchiveObject; readonly digest: ObjectDigest }
  /** All shares of the dataset; recipients that are not named have none. */
  | { readonly set: 'shares'; readonly shares: readonly StoredShare[] }
  /** What the store keeps of the dataset besides raw/ and flags, by names below its prefix. It counts against the quota. */
  | { readonly set: 'kept'; readonly objects: readonly FileEntry[] }
  | { readonly set: 'metadata'; readonly metadata: DatasetMetadata }
  | ({ readonly set: 'install' } & InstallRecord)
  | ({ readonly set: 'attempt' } & InstallAttempt)
  /** The step is finished, or no longer due: its attempts are forgotten. */
  | { readonly set: 'attemptOver'; readonly target: TargetId; readonly kind: InstallKind }
  | { readonly set: 'sync'; readonly part: SyncPart; readonly version: ObjectVersion }
  /** With `from`, only while it is in that state, because the owner may have changed it since the writer looked. */
  | { readonly set: 'state'; readonly state: DatasetState; readonly from?: DatasetState }
  /** What objects count that were put with `settle: 'by caller'` (storage-room.ts). */
  | { readonly set: 'settled'; readonly owner: UserId; readonly objects: readonly SettledObject[] }
  /** The upload is in import-ready.zip: its row becomes `stored`, and what is left under raw/ is not counted any more. */
  | { readonly set: 'uploadStored' }
  /**
   * A job of this dataset that the change makes due. It waits for the job that writes the change, and is claimed when that job
   * ends. Its lane is not woken before.
   */
  | ({ readonly set: 'next' } & Pick<JobRequest, 'lane' | 'eventId' | 'source'>)
  /**
   * Nothing of it can be installed any more: removes the mirror's statuses and the version of the data. Do not combine with
   * changes of those.
   */
  | { readonly set: 'trimmed' };

/** One due step of an install: it has its own attempts and next time (docs/design/decisions.md#lanes). */
export interface InstallAttempt {
  readonly target: TargetId;
  readonly kind: InstallKind;
  /** Attempts that failed so far. */
  readonly attempts: number;
  /** Not due before this time; undefined = now. */
  readonly notBefore: Date | undefined;
  /** True from just before the plugin was called: an install may have begun. */
  readonly started: boolean;
}

/** For a job that works on the dataset's installs: all that it has to know, in one read. */
export interface DatasetWithAttempts extends DatasetRecord {
  readonly attempts: readonly InstallAttempt[];
}

/** Uploaded and not imported yet. `in-progress` while we hold the lease was left by an attempt that crashed. */
export function importIsDue({ state, upload, import: imported }: DatasetRecord): boolean {
  if (state !== 'live' || upload.status !== 'success') return false;
  return imported === undefined || imported.status === 'queued' || imported.status === 'in-progress';
}

export interface Catalog {
  find(dataset: DatasetId, signal: AbortSignal): Promise<DatasetRecord | undefined>;
  findWithAttempts(dataset: DatasetId, signal: AbortSignal): Promise<DatasetWithAttempts | undefined>;
  /**
   * Like {@link findWithAttempts}, and begins the import in the same step, if it is due: a live dataset that is uploaded and not
   * imported becomes `in-progress`. Returns it as it was before. Fenced like `write`.
   */
  beginImport(dataset: DatasetId, lease: Lease, signal: AbortSignal): Promise<DatasetWithAttempts | undefined>;
  /**
   * Between the first byte of an upload and its end. Ask before the objects are listed, and register nothing that was listed
   * meanwhile: an upload that is given up removes its objects.
   */
  isReceiving(dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
  /**
   * Adds a dataset that the object store knows and the cache does not: state live, upload success, import queued unless the
   * changes say otherwise, all in one transaction. Does nothing when it exists or is being received.
   */
  register(
    at: DatasetAddress,
    metadata: DatasetMetadata,
    changes: readonly CatalogChange[],
    lease: Lease,
    signal: AbortSignal,
  ): Promise<void>;
  /** Writes all changes or none, and only while we hold the lease; otherwise an `aborted` failure 'lease lost'. */
  write(dataset: DatasetId, lease: Lease, changes: readonly CatalogChange[], signal: AbortSignal): Promise<void>;
  attempts(dataset: DatasetId, signal: AbortSignal): Promise<readonly InstallAttempt[]>;
  /**
   * Removes the dataset and everything about it except its job rows and events; does nothing when it does not exist. Fenced
   * like `write`.
   */
  remove(dataset: DatasetId, lease: Lease, signal: AbortSignal): Promise<void>;
}

// Which datasets a database knows, page by page, for the daemons. Pages come in the order of the object store's keys, so that
// both sides can be merged in constant memory. Datasets on their way to deletion can be listed, too.

/** A dataset as the cache DB knows it. */
export interface IndexedDataset extends DatasetAddress {
  readonly state: DatasetState;
  readonly type: DatasetType;
  readonly installTargets: readonly TargetId[];
  readonly upload: UploadStatus;
  readonly import: ImportStatus;
  readonly sync: Readonly<Partial<Record<SyncPart, ObjectVersion>>>;
}

/** A dataset as the install targets of one control schema know it. */
export interface InstalledDataset extends DatasetAddress {
  /** Of every target that has a row, which is at least one. Targets with equal states may share the object. */
  readonly installs: ReadonlyMap<TargetId, InstalledState>;
}

export interface StoreOrdered<Row extends DatasetAddress> {
  /**
   * Up to `limit` rows (1..10,000) after the given address, in bytewise order of `{owner}/{dataset}/`, which is the order of
   * the store's keys. Fewer than `limit` rows = the end.
   */
  page(after: DatasetAddress | undefined, limit: number, signal: AbortSignal): Promise<readonly Row[]>;
}

/** One per control schema. */
export interface TargetIndex extends StoreOrdered<InstalledDataset> {
  /** The targets that it is asked about, at least one. The schema may have others. */
  readonly targets: readonly TargetId[];
}

export const RETIRED_STATES = ['superseded', 'deleted', 'pruning'] as const;
export type RetiredState = (typeof RETIRED_STATES)[number];

/** A dataset that the pruner may have to remove or trim. */
export interface RetiredDataset extends DatasetAddress {
  readonly state: RetiredState;
  readonly installTargets: readonly TargetId[];
}

export interface DatasetIndex extends StoreOrdered<IndexedDataset> {
  /**
   * Up to `limit` live datasets with ids after `after`, in order of their ids, whose upload or import has not ended and that
   * have no job that could end it. Dead jobs do not count.
   */
  forgotten(after: DatasetId | undefined, limit: number, signal: AbortSignal): Promise<readonly IndexedDataset[]>;
  /** Up to `limit` datasets in that state with ids after `after`, in order of their ids. */
  retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]>;
  /**
   * Moves datasets from `deleted` to `pruning`, the point of no return: from here on a deletion can no longer be undone. Skips
   * those that are not `deleted`, which are not in the result, and those whose row is locked, by an edit or by another job.
   */
  beginPruning(
    datasets: readonly DatasetId[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<DatasetId, 'begun' | 'locked'>>;
}
