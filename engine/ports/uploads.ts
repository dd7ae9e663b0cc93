// How a dataset enters: quota reservation, the upload row, and the one transaction that makes the 202 true.
//
// States of an upload row:
//   receiving  from before the first byte; holds reserved quota; swept when its process died
//   accepted   with the dataset's rows and the upload job (the 202); read by the upload lane
//   stored     import-ready.zip exists and the status is written; parts under raw/ may be removed
//   gone       abandoned before the 202, or swept

import type { DatasetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, FileEntry } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { ObjectVersion } from './catalog.ts';
import type { Lease } from './leases.ts';

/** What was received: data files under raw/, or a URL to fetch. */
export type UploadSource = (
  | { readonly kind: 'files'; readonly files: readonly FileEntry[] }
  | { readonly kind: 'url'; readonly url: string }
) & {
  /** Names of files that desktops add, which came with it and were not kept; absent = none. */
  readonly leftOut?: readonly string[];
};

export interface AcceptedUpload extends DatasetAddress {
  readonly metadata: DatasetMetadata;
  /** Version of the vdi-meta.json that was put. */
  readonly metaVersion: ObjectVersion;
  readonly source: UploadSource;
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
  /** Further objects of the dataset that are kept already, by their names below its prefix; absent = not known. */
  readonly others?: readonly FileEntry[];
  readonly eventId: number;
  /** Of the request that brought it, for the jobs that follow. */
  readonly traceparent?: Traceparent;
}

export interface Uploads {
  /**
   * Opens a `receiving` row with `bytes` reserved. False when the owner's quota (`limitBytes`) would be exceeded: no row.
   * `rejected` when the dataset exists or is being received, or another revision of it is: of two at once one is made.
   */
  begin(at: DatasetAddress, bytes: number, limitBytes: number, signal: AbortSignal): Promise<boolean>;
  /** Raises the reservation to `bytes` in all. False when the quota would be exceeded: the reservation stays. */
  grow(dataset: DatasetId, bytes: number, limitBytes: number, signal: AbortSignal): Promise<boolean>;
  /**
   * In one transaction: dataset, metadata, target and publication rows, upload `running`, import `queued`, files of
   * documents and properties, the reservation settled to the bytes really kept, the upload job. Wakes the lane.
   */
  accept(upload: AcceptedUpload, signal: AbortSignal): Promise<void>;
  /**
   * Takes up an upload again that was accepted once and that the cache DB has forgotten: begin and accept in one
   * transaction, so that no crash leaves a `receiving` row whose objects the sweep would remove. The owner's quota was
   * asked the first time. False, with nothing done, when the dataset is known or is being received, or when `isWhole`,
   * which is asked once no sweep can touch the upload any more, finds that one has been there.
   */
  resume(upload: AcceptedUpload, isWhole: () => Promise<boolean>, signal: AbortSignal): Promise<boolean>;
  /**
   * Decides an acceptance whose outcome is unknown. False: it has happened. True: it has not and cannot any more; the row
   * stays, an orphan from now on, until its objects are removed and it is abandoned or swept. When it fails, the next
   * {@link orphans} that succeeds gives the upload up.
   */
  giveUp(dataset: DatasetId, signal: AbortSignal): Promise<boolean>;
  /** Forgets a `receiving` row and its reservation; the caller has removed its objects. */
  abandon(dataset: DatasetId, signal: AbortSignal): Promise<void>;
  /** The source of an accepted upload; undefined when there is none or it is stored. */
  source(dataset: DatasetId, signal: AbortSignal): Promise<UploadSource | undefined>;
  /** Bytes that an accepted upload may have in all within the owner's quota (`limitBytes`); 0 when there is none. */
  room(dataset: DatasetId, limitBytes: number, signal: AbortSignal): Promise<number>;
  /** The files of an accepted upload are under raw/ now and not to be fetched again. Guarded by the lease. */
  fetched(dataset: DatasetId, lease: Lease, files: readonly FileEntry[], signal: AbortSignal): Promise<void>;
  /**
   * Marks the upload `stored`, with the bytes that are left under raw/. Guarded by the lease. Jobs of the dataset that an
   * event made before the acceptance, and that know no trace, have that of the upload from now on.
   */
  settle(dataset: DatasetId, lease: Lease, rawBytes: number, signal: AbortSignal): Promise<void>;
  /**
   * `receiving` rows whose process is dead or that were given up, for the sweep: remove their objects, then {@link abandon}.
   * None of them can be accepted any more, not even by a process that was only thought to be dead.
   */
  orphans(signal: AbortSignal): Promise<readonly DatasetAddress[]>;
  /** Bytes that count against the owner's quota: what is kept of their datasets, and reservations. */
  usage(owner: UserId, signal: AbortSignal): Promise<number>;
  /** Jobs of the owner's uploads, imports and installs that wait, run or are tried again; counted up to `most`. */
  waiting(owner: UserId, most: number, signal: AbortSignal): Promise<number>;
}
