// Reads a dataset of the cache DB as a record: the columns to select, with child rows aggregated, and the conversion.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetMetadata, type Revision, registeredMetadata } from '../../model/metadata.ts';
import type { DatasetState, ImportStatus, InstallKind, InstallStatus, UploadStatus } from '../../model/status.ts';
import {
  type DatasetRecord,
  type InstallRecord,
  type ObjectVersion,
  SYNC_PARTS,
  type SyncPart,
} from '../../ports/catalog.ts';
import type { ShareRecord } from '../../ports/dataset-queries.ts';

/** From `dataset d`: the versions of the store's objects that the cache reflects. */
const SYNC_COLUMNS = `
  d.meta_etag, d.meta_modified_ms, d.data_etag, d.data_modified_ms, d.shares_etag, d.shares_modified_ms`;

/**
 * Columns to select from `dataset d`. Metadata is selected as text, because the driver's JSON numbers would lose digits of ids.
 * Installs are lines of tab-separated fields, `target kind status [messages]`, with the messages as JSON. Ten installs are most
 * of the cost of a dataset in a listing. As JSON, they would cost the server a quarter more and the reader twice as much. The
 * format is unambiguous: targets consist of letters, digits, `-` and `_`, and JSON contains no raw tab or newline.
 */
export const SHOWN_COLUMNS = `
  d.dataset_id, d.owner_id::text as owner_id, d.state, d.metadata::text as metadata,
  d.upload_status, d.upload_message, d.import_status, d.import_messages,
  (select string_agg(i.target_id || E'\\t' || i.kind || E'\\t' || i.status
      || case i.messages when '{}' then '' else E'\\t' || array_to_json(i.messages)::text end, E'\\n'
      order by i.target_id, i.kind) from install_status i where i.dataset_id = d.dataset_id) as installs`;

/** The shown columns, and those that the reconciler compares. */
export const DATASET_COLUMNS = `${SHOWN_COLUMNS},${SYNC_COLUMNS}`;

/** Column to select from `dataset d`: the recipients that the dataset was offered to. */
export const SHARES_COLUMN = `
  (select json_agg(json_build_object('recipient', s.recipient_id::text,
      'granted', s.offer is not distinct from 'grant', 'accepted', s.receipt is not distinct from 'accept')
      order by s.recipient_id) from dataset_share s where s.dataset_id = d.dataset_id) as shares`;

type SyncColumns = { readonly [Part in SyncPart as `${Part}_etag`]: string | null } & {
  readonly [Part in SyncPart as `${Part}_modified_ms`]: number | null;
};

export interface ShownRow {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly state: DatasetState;
  readonly metadata: string;
  readonly upload_status: UploadStatus;
  readonly upload_message: string | null;
  readonly import_status: ImportStatus;
  readonly import_messages: string[];
  readonly installs: string | null;
}

export interface DatasetRow extends ShownRow, SyncColumns {}

export interface SharesRow {
  readonly shares: ShareRecord[] | null;
}

export function datasetRecord(row: DatasetRow): DatasetRecord {
  return { ...shownRecord(row, installRecords), sync: syncVersions(row) };
}

/** @param installsOf parses the lines of installs */
export function shownRecord(
  row: ShownRow,
  installsOf: (lines: string) => readonly InstallRecord[],
): Omit<DatasetRecord, 'sync'> {
  return {
    owner: row.owner_id,
    dataset: row.dataset_id,
    state: row.state,
    metadata: storedMetadata(row.dataset_id, row.owner_id, row.metadata),
    upload: { status: row.upload_status, message: row.upload_message ?? undefined },
    import: row.upload_status === 'success' ? { status: row.import_status, messages: row.import_messages } : undefined,
    installs: row.installs === null ? [] : installsOf(row.installs),
  };
}

/** A parser for lists, where most datasets have the same installs as the one before. It parses equal lines only once. */
export function installsReader(): (lines: string) => readonly InstallRecord[] {
  let last = { lines: '', records: [] as readonly InstallRecord[] };
  return (lines) => {
    if (lines !== last.lines) last = { lines, records: installRecords(lines) };
    return last.records;
  };
}

export const installRecords = (lines: string): readonly InstallRecord[] => lines.split('\n').map(installRecord);

function installRecord(line: string): InstallRecord {
  const [target, kind, status, messages] = line.split('\t') as [TargetId, InstallKind, InstallStatus, string?];
  return { target, kind, status, messages: messages === undefined ? [] : (JSON.parse(messages) as string[]) };
}

function syncVersions(row: SyncColumns): Partial<Record<SyncPart, ObjectVersion>> {
  const versions: Partial<Record<SyncPart, ObjectVersion>> = {};
  for (const part of SYNC_PARTS) {
    const [etag, modifiedMs] = [row[`${part}_etag`], row[`${part}_modified_ms`]];
    if (etag !== null && modifiedMs !== null) versions[part] = { modified: new Date(modifiedMs), etag };
  }
  return versions;
}

// Reads metadata from the column that `serializeMetadata` filled. This is a fast path. To keep the digits of user ids, the
// general parser calls a reviver for every value, which took a third of a listing's time. A document that we wrote contains
// only one user id, the owner, which the row also holds as text.

interface StoredDocument extends Omit<DatasetMetadata, 'owner' | 'revisionHistory'> {
  readonly owner: unknown;
  /** In stored documents, the list of revisions is named `revisionHistory`, too. */
  readonly revisionHistory?: { readonly originalId: DatasetId; readonly revisionHistory: readonly Revision[] };
}

/** `text` is the column cast to text. */
export function storedMetadata(dataset: DatasetId, owner: UserId, text: string): DatasetMetadata {
  const { revisionHistory, ...document } = JSON.parse(text) as StoredDocument;
  // A document of a compatible system may name another owner than its key in the store.
  if (document.owner !== Number(owner))
    return registeredMetadata(text, `metadata of dataset ${dataset} in the catalog`);
  return {
    ...document,
    owner,
    ...(revisionHistory && {
      revisionHistory: { originalId: revisionHistory.originalId, revisions: revisionHistory.revisionHistory },
    }),
  };
}
