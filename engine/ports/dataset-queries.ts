// What users and administrators read from the cache DB. Read-only.

import type { ArchiveObject } from '../model/digest.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetMetadata, DatasetType, FileEntry } from '../model/metadata.ts';
import type { DatasetAddress } from '../model/object-key.ts';
import { IMPORT_STATUSES, type InstallStatus } from '../model/status.ts';
import type { DatasetRecord, ObjectDigest } from './catalog.ts';

export type Ownership = 'any' | 'owned' | 'shared';

/** How far a live dataset is, in one word. `failed`: its upload, its import or one of its installs. */
export const LISTED_STATUSES = [
  ...(['uploading', 'importing', 'installing', 'installed'] as const),
  ...(['rejected', 'invalid', 'failed'] as const),
] as const;
export type ListedStatus = (typeof LISTED_STATUSES)[number];

/** What a search looks for: both parts have to match. */
export interface SearchWords {
  /** Words, phrases in quotes, `-` before what must not occur, and `or`; without other punctuation. */
  readonly words: string;
  /** A query of PostgreSQL (`tsquery`) for words that begin so; empty = none. */
  readonly beginnings: string;
}

/** Which datasets a list has. All conditions have to hold. */
export interface ListSelection {
  readonly viewer: UserId;
  /** Guests do not find protected datasets by the people in them, whom they are not shown. Absent = no guest. */
  readonly isGuest?: boolean;
  /**
   * owned = by the viewer; shared = offered to and accepted by the viewer; any = either (docs/contract/installer.md#endpoints);
   * community = all datasets that are not private, whoever the viewer is.
   */
  readonly ownership: Ownership | 'community';
  /** Only datasets that have this target. */
  readonly target?: TargetId;
  /** Only datasets whose name contains this, in any case. */
  readonly name?: string;
  /** Only datasets of this type; without a version, of all its versions. */
  readonly type?: { readonly name: string; readonly version?: string };
  readonly status?: ListedStatus;
  /** Only datasets whose details, upload, import or installs have changed then or later. */
  readonly updatedSince?: Date;
  readonly search?: SearchWords;
}

export interface ListFilter extends Omit<ListSelection, 'search'> {
  readonly limit?: number;
  readonly offset?: number;
}

/** What lists are sorted by, with the kinds of the values that tell the place of a dataset, which its id completes. */
export const LIST_SORTS = {
  created: ['time'],
  /** The last change, as `updatedSince` has it. */
  updated: ['time'],
  /** The first 100 characters, in any case. */
  name: ['text'],
  /** Bytes of the uploaded files. */
  size: ['integer'],
  /** Of a search. The newest of equally relevant ones comes first. */
  relevance: ['number', 'time'],
} as const satisfies Readonly<Record<string, readonly ListKeyKind[]>>;
/** Times are microseconds since 1970. */
export type ListKeyKind = 'time' | 'text' | 'integer' | 'number';
export type ListSort = keyof typeof LIST_SORTS;

export interface ListOrder {
  readonly sort: ListSort;
  readonly descending: boolean;
}

/** The last dataset of a page. */
export interface ListPlace {
  /** Of the kinds that the order has. */
  readonly keys: readonly string[];
  readonly dataset: DatasetId;
}

export interface ListPage {
  /** Undefined on the last page. */
  readonly next: ListPlace | undefined;
  /** In order. Those that the viewer may no longer see when they are read are left out. */
  readonly datasets: AsyncIterable<ListedDataset>;
}

/**
 * A search finds the newest matches only: at most so many when they are sorted by relevance, and when they are sorted otherwise.
 * A larger number would let one frequent word keep the database busy.
 */
export const MOST_FOUND = { byRelevance: 2_000, otherwise: 20_000 } as const;

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
  /** With digests, as far as they are known. */
  readonly upload: readonly FileEntry[];
  /** Empty until the import is complete. */
  readonly install: readonly FileEntry[];
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
  /** Those whose digest is known. The digests of the files in an archive are of that version, too. */
  readonly archives?: Readonly<Partial<Record<ArchiveObject, ObjectDigest>>>;
}

/** A stored file that is downloaded on its own: an archive, or a file of a folder. */
export type DigestedFile =
  | { readonly archive: ArchiveObject }
  | { readonly folder: 'documents' | 'properties'; readonly name: string };

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
  /**
   * The live datasets that follow `after` in this order. What is added or removed meanwhile changes neither the others nor their
   * order. Its ids are read at once, so that the place where the page ends is known; the rest in constant memory.
   */
  page(
    selection: ListSelection,
    order: ListOrder,
    page: { readonly limit: number; readonly after?: ListPlace },
    signal: AbortSignal,
  ): Promise<ListPage>;
  /** How many datasets all pages of a list with this order have; only that of a search depends on it. */
  count(selection: ListSelection, order: ListOrder, signal: AbortSignal): Promise<number>;
  /** Live datasets with an offer to the recipient in force, newest `created` first, in constant memory. */
  offers(filter: OfferFilter, signal: AbortSignal): AsyncIterable<OfferedDataset>;
  /** In any state but `receiving`. */
  view(dataset: DatasetId, signal: AbortSignal): Promise<ViewedDataset | undefined>;
  /** The family of the dataset. Undefined when the dataset is unknown. */
  family(dataset: DatasetId, signal: AbortSignal): Promise<RevisionFamily | undefined>;
  files(dataset: DatasetId, signal: AbortSignal): Promise<DatasetFiles>;
  /**
   * Live datasets related by project, program (same owner) or publication, that the viewer may see; the newest 1,000. Of more
   * with a publication, those with the highest ids count as newest: datasets of other systems may have ids in any order.
   */
  related(
    dataset: DatasetId,
    metadata: DatasetMetadata,
    viewer: UserId,
    signal: AbortSignal,
  ): Promise<readonly RelatedDataset[]>;
}

export interface FileDigests {
  /** Undefined if it is not known. It counts only for the version of the object that it names. */
  digest(dataset: DatasetId, file: DigestedFile, signal: AbortSignal): Promise<ObjectDigest | undefined>;
}

export interface ReportFilter extends Pick<ListSelection, 'name' | 'type' | 'status' | 'updatedSince'> {
  readonly owner?: UserId;
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

/**
 * What administrators read about all datasets, whoever owns them. Everything comes page by page, each page from a short
 * statement: nothing is held while the reader is slow, and memory does not grow with the listing. A concurrent change may or
 * may not show, but nothing is listed twice.
 */
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
