// What the front ends read from the cache DB. Read-only.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType, FileEntry } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import type { DatasetRecord } from './catalog.ts';

export type Ownership = 'any' | 'owned' | 'shared';

export interface ListFilter {
  readonly viewer: UserId;
  /**
   * owned = by the viewer; shared = offered to and accepted by the viewer; any = either (docs/contract/installer.md#endpoints);
   * community = all datasets that are not private, whoever the viewer is.
   */
  readonly ownership: Ownership | 'community';
  /** Only datasets that have this target. */
  readonly target?: TargetId;
  readonly limit?: number;
  readonly offset?: number;
}

/** What a recipient answered to an offer; `open` while there is no answer. */
export const SHARE_STATUSES = ['open', 'accepted', 'rejected'] as const;
export type ShareStatus = (typeof SHARE_STATUSES)[number];

export interface OfferFilter {
  readonly recipient: UserId;
  readonly status: ShareStatus | 'all';
  readonly limit?: number;
  readonly offset?: number;
}

export interface OfferedDataset extends DatasetAddress {
  readonly metadata: DatasetMetadata;
  readonly status: ShareStatus;
  /** Approximate memory of this record as it is stored, for callers that collect several. */
  readonly bytes: number;
}

export interface ShareRecord {
  readonly recipient: UserId;
  /** The owner's offer is in force. */
  readonly granted: boolean;
  /** The recipient accepted. */
  readonly accepted: boolean;
}

export interface ListedDataset extends Omit<DatasetRecord, 'sync'> {
  readonly fileCount: number;
  readonly fileBytes: number;
  /** Approximate memory of this record as it is stored, for callers that collect several. */
  readonly bytes: number;
  readonly shares: readonly ShareRecord[];
}

export interface DatasetFiles {
  readonly upload: readonly FileEntry[];
  /** Empty until the import is complete. */
  readonly install: readonly FileEntry[];
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
}

export interface RelatedDataset {
  readonly dataset: DatasetId;
  readonly type: DatasetType;
  readonly name: string;
  readonly summary: string;
  readonly created: string;
  readonly relation:
    | { readonly by: 'program-name' | 'project-name'; readonly identifier: string }
    | { readonly by: 'publication'; readonly identifier: string; readonly type: 'pmid' | 'doi' };
}

export interface ViewedDataset extends DatasetRecord {
  readonly shares: readonly ShareRecord[];
  /** The newest live revision of the same root, when it is another dataset. */
  readonly newest: DatasetId | undefined;
}

/** All revisions of one dataset, the original included. */
export interface RevisionFamily {
  /** Of all revisions, including deleted ones; 0 for the original alone. */
  readonly highestNumber: number;
  /** The highest revision that is not deleted, whether or not its upload, import or installs succeeded. */
  readonly newest: DatasetRecord | undefined;
}

export interface DatasetQueries {
  /** Live datasets only, newest `created` first, in constant memory. */
  list(filter: ListFilter, signal: AbortSignal): AsyncIterable<ListedDataset>;
  /** Live datasets with an offer to the recipient in force, newest `created` first, in constant memory. */
  offers(filter: OfferFilter, signal: AbortSignal): AsyncIterable<OfferedDataset>;
  /** In any state but `receiving`. */
  view(dataset: DatasetId, signal: AbortSignal): Promise<ViewedDataset | undefined>;
  /** The family of the dataset. Undefined when the dataset is unknown. */
  family(dataset: DatasetId, signal: AbortSignal): Promise<RevisionFamily | undefined>;
  files(dataset: DatasetId, signal: AbortSignal): Promise<DatasetFiles>;
  /** Live datasets related by project, program (same owner) or publication (that the viewer may see); at most 1,000. */
  related(
    dataset: DatasetId,
    metadata: DatasetMetadata,
    viewer: UserId,
    signal: AbortSignal,
  ): Promise<readonly RelatedDataset[]>;
}
