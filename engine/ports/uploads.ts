// How a dataset enters: the quota reservation, the upload row, and the one transaction that must commit before we answer 202.
//
// States of an upload row:
//   receiving  from before the first byte; holds reserved quota; swept when its process died
//   accepted   with the dataset's rows and the upload job (the 202); read by the upload lane
//   stored     import-ready.zip and the status are written, or the upload is rejected (catalog.ts, `uploadStored`); parts
//              under raw/ may be removed
//   gone       abandoned before the 202, or swept

import type { DatasetId, UploadId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, FileEntry } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { DatasetRecord, ObjectDigest, ObjectVersion, StoredShare } from './catalog.ts';
import type { KeyedAnswer } from './idempotency-keys.ts';
import type { Lease } from './jobs.ts';

/** What was received: data files under raw/, or a URL to fetch. */
export type UploadSource = (
  | { readonly kind: 'files'; readonly files: readonly FileEntry[] }
  | { readonly kind: 'url'; readonly url: string }
) & {
  /** Names of the files that desktops add (such as .DS_Store). They were in the upload and were not stored. Absent = none. */
  readonly leftOut?: readonly string[];
};

export interface AcceptedUpload extends DatasetAddress {
  readonly metadata: DatasetMetadata;
  /** Version of the vdi-meta.json that was written. */
  readonly metaVersion: ObjectVersion;
  readonly source: UploadSource;
  /** The digest of import-ready.zip, if the files are stored in it, with a manifest, instead of under raw/. */
  readonly packed?: ObjectDigest | undefined;
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
  /** Further objects of the dataset that are already stored, by their names below its prefix; absent = not known. */
  readonly others?: readonly FileEntry[];
  /** What the share documents among them say. Absent = there are none. */
  readonly shares?: readonly StoredShare[];
  /**
   * Resumable uploads that became the data files, claimed by this process (resumable-uploads.ts). The acceptance marks them used
   * and moves their quota to the dataset. Absent = none.
   */
  readonly taken?: readonly UploadId[];
  readonly eventId: number;
  /** The answer that the same transaction stores for the key of the request. Absent = it has none. */
  readonly keyed?: KeyedAnswer | undefined;
  /** Of the request that uploaded the dataset, for the jobs that follow. */
  readonly traceparent?: Traceparent;
}

/** What an owner may have when an upload begins. */
export interface OwnerBounds {
  /** Quota, in bytes. */
  readonly bytes: number;
  /** Jobs; those that are dead do not count. Default: any number. */
  readonly jobs?: number;
}

export type BeginResult = 'begun' | 'over quota' | 'too many jobs';

/** For the upload lane. */
export interface UploadedDataset {
  readonly record: DatasetRecord;
  /** Undefined once the upload is stored. */
  readonly source: UploadSource | undefined;
}

export interface Uploads {
  /**
   * Opens a `receiving` row with `bytes` reserved. Without a row: 'over quota' when the owner's quota would be exceeded, 'too many
   * jobs' when as many of the owner's uploads, imports and installs as may wait or run already do. Concurrent calls can exceed
   * that bound by their own number.
   * `rejected` when the dataset, or another revision of it, exists or is being received: of two concurrent calls one succeeds.
   */
  begin(at: DatasetAddress, bytes: number, bounds: OwnerBounds, signal: AbortSignal): Promise<BeginResult>;
  /**
   * Raises the reservation to `bytes` in total. Returns false, with the reservation unchanged, when the quota would be
   * exceeded.
   */
  grow(dataset: DatasetId, bytes: number, limitBytes: number, signal: AbortSignal): Promise<boolean>;
  /**
   * One transaction writes the rows of dataset, metadata, target, publication and share, and the files of documents and
   * properties. It
   * sets upload to `running` and import to `queued`, settles the reservation to the bytes really stored, and enqueues the
   * upload job. A packed upload is `stored` at once: upload is `success`, and the import job is enqueued. Wakes the lane.
   */
  accept(upload: AcceptedUpload, signal: AbortSignal): Promise<void>;
  /**
   * Resumes an upload that was accepted once and that the cache DB has lost. Does begin and accept in one transaction, so that
   * no crash leaves a `receiving` row whose objects the sweep would remove. The owner's quota was checked the first time.
   * Returns false, with nothing done, when the dataset is known or is being received, or when `isWhole` returns false.
   * `isWhole` is called once no
   * sweep can touch the upload any more; it says whether all objects of the upload are still there.
   */
  resume(upload: AcceptedUpload, isWhole: () => Promise<boolean>, signal: AbortSignal): Promise<boolean>;
  /**
   * Decides an acceptance whose outcome is unknown. False: it was committed. True: it was not and no longer can be; the row
   * stays as an orphan until its objects are removed and it is abandoned or swept. If this call fails, the next successful
   * {@link orphans} gives the upload up.
   */
  giveUp(dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
  /** Deletes a `receiving` row and its reservation; the caller has already removed its objects. */
  abandon(dataset: DatasetId, signal: AbortSignal): Promise<void>;
  /** The dataset, and the source of its upload, in one read. Undefined when the dataset is not known. */
  find(dataset: DatasetId, signal: AbortSignal): Promise<UploadedDataset | undefined>;
  /** The source of an accepted upload; undefined when there is none or it is stored. */
  source(dataset: DatasetId, signal: AbortSignal): Promise<UploadSource | undefined>;
  /**
   * Bytes that an accepted upload may have in total within the owner's quota (`limitBytes`); 0 when there is no such upload.
   */
  room(dataset: DatasetId, limitBytes: number, signal: AbortSignal): Promise<number>;
  /** Records that the files of an accepted upload are under raw/ and need not be fetched again. Guarded by the lease. */
  fetched(dataset: DatasetId, lease: Lease, files: readonly FileEntry[], signal: AbortSignal): Promise<void>;
  /**
   * For the sweep: `receiving` rows whose process is dead or that were given up. The caller removes their objects, then calls
   * {@link abandon}. None of them can be accepted any more, not even by a process that was wrongly believed dead.
   */
  orphans(signal: AbortSignal): Promise<readonly DatasetAddress[]>;
  /** Bytes that count against the owner's quota: the stored bytes of their datasets, and reservations. */
  usage(owner: UserId, signal: AbortSignal): Promise<number>;
}
