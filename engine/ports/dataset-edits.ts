// Changes of a dataset by its owner, outside the lanes and without a lease. The dataset's row is locked while the change is
// decided and its object is put. So edits never interleave, and the cache matches the last object put. The change's own event
// then finds nothing left to do.

import type { DatasetId } from '../model/ids.ts';
import type { FileEntry } from '../model/metadata.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { CatalogChange, DatasetRecord, StoredShare } from './catalog.ts';
import type { DatasetFiles } from './dataset-queries.ts';

/** A dataset's current state, while its row is locked. */
export interface EditableDataset extends DatasetRecord {
  /** In the order of recipients. */
  readonly shares: readonly StoredShare[];
  readonly files: Pick<DatasetFiles, 'documents' | 'properties'>;
  /** The newest revision that is live and newer than this one. */
  readonly newer: NewerRevision | undefined;
  /** Older revisions that are live or superseded, newest first. */
  readonly older: readonly DatasetId[];
}

export interface NewerRevision {
  readonly dataset: DatasetId;
  /** Its upload or its import has failed, so it will not supersede others. */
  readonly failed: boolean;
}

/** The changes that an owner may cause; all others belong to the lanes. */
export type DatasetEdit =
  | Extract<CatalogChange, { readonly set: 'metadata' | 'sync' | 'state' | 'shares' }>
  | { readonly set: 'documentFiles' | 'propertyFiles'; readonly files: readonly FileEntry[] }
  /** The older revisions become `deleting`; those that are already `deleting` or further are unchanged. */
  | { readonly set: 'olderDeleted' };

export interface DecidedEdit<Result> {
  readonly changes: readonly DatasetEdit[];
  readonly result: Result;
  /** Of the request that changes the dataset, for the jobs that follow. Stored only when there are changes. */
  readonly traceparent?: Traceparent;
}

export interface DatasetEdits {
  /**
   * Locks the dataset, calls `decide`, applies the changes it returns, and unlocks. `decide` puts the object that belongs to
   * the change and refuses by throwing, which changes nothing. It must be quick, because lanes that write to this dataset wait.
   * It must not query the database: with many edits at once, each would hold a connection while it waits for another. It gets
   * undefined when there is no such dataset, or when it is still being received.
   */
  edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result>;
}
