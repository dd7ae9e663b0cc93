// Changes of a dataset by its owner, outside the lanes and without a lease: the dataset's row is locked while the change
// is decided and while its object is put, so that two edits never mix and what the object store says last is what the
// cache says. The change's own event then finds nothing left to do.

import type { DatasetId } from '../model/ids.ts';
import type { FileEntry } from '../model/metadata.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { CatalogChange, DatasetRecord, ShareWords } from './catalog.ts';
import type { DatasetFiles } from './dataset-queries.ts';

/** A dataset as it is while its row is locked. */
export interface EditableDataset extends DatasetRecord {
  /** In the order of recipients. */
  readonly shares: readonly ShareWords[];
  readonly files: Pick<DatasetFiles, 'documents' | 'properties'>;
  /** The newest revision that is live and newer than this one. */
  readonly newer: NewerRevision | undefined;
  /** Older revisions that are live or superseded, newest first. */
  readonly older: readonly DatasetId[];
}

export interface NewerRevision {
  readonly dataset: DatasetId;
  /** Its upload or its import has failed: it will not take the place of others. */
  readonly failed: boolean;
}

/** What the owner may cause; the rest belongs to the lanes. */
export type DatasetEdit =
  | Extract<CatalogChange, { readonly set: 'metadata' | 'sync' | 'state' | 'shares' }>
  | { readonly set: 'documentFiles' | 'propertyFiles'; readonly files: readonly FileEntry[] }
  /** The older revisions become `deleting`, those that are so already or more stay as they are. */
  | { readonly set: 'olderDeleted' };

export interface DecidedEdit<Result> {
  readonly changes: readonly DatasetEdit[];
  readonly result: Result;
  /** Of the request that changes the dataset, for the jobs that follow. Kept only with changes. */
  readonly traceparent?: Traceparent;
}

export interface DatasetEdits {
  /**
   * Locks the dataset and has `decide` say what changes; applies that and lets go. `decide` puts the object that goes
   * with the change, refuses by throwing (nothing is changed then), and must not take long: lanes that write to this
   * dataset wait. Nor may it ask the database for more: it would wait for a connection while it holds one, as all edits at
   * once might. It gets undefined when there is no such dataset, or one that is still being received.
   */
  edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result>;
}
