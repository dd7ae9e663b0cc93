// One dataset of the cache DB as a record: the columns to select, children aggregated in the same row, and its reading.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetState, ImportStatus, InstallKind, InstallStatus, UploadStatus } from '../model/status.ts';
import { type DatasetRecord, type ObjectVersion, SYNC_PARTS, type SyncPart } from '../ports/catalog.ts';
import type { ShareRecord } from '../ports/dataset-queries.ts';
import { storedMetadata } from './stored-metadata.ts';

/** From `dataset d`: the versions of the store's objects that the cache reflects. */
const SYNC_COLUMNS = `
  d.meta_etag, d.meta_modified_ms, d.data_etag, d.data_modified_ms, d.shares_etag, d.shares_modified_ms`;

/**
 * To select from `dataset d`. Metadata comes as text, because JSON numbers of the driver would lose digits of ids; the
 * children come as arrays, which cost the server half of what objects do.
 */
export const DATASET_COLUMNS = `
  d.dataset_id, d.owner_id::text as owner_id, d.state, d.metadata::text as metadata,
  d.upload_status, d.upload_message, d.import_status, d.import_messages,
  (select json_agg(json_build_array(i.target_id, i.kind, i.status, i.messages) order by i.target_id, i.kind)
    from install_status i where i.dataset_id = d.dataset_id) as installs,${SYNC_COLUMNS}`;

/** Also from `dataset d`: who the dataset was offered to. */
export const SHARES_COLUMN = `
  (select json_agg(json_build_object('recipient', s.recipient_id::text,
      'granted', s.offer is not distinct from 'grant', 'accepted', s.receipt is not distinct from 'accept')
      order by s.recipient_id) from dataset_share s where s.dataset_id = d.dataset_id) as shares`;

type SyncColumns = { readonly [Part in SyncPart as `${Part}_etag`]: string | null } & {
  readonly [Part in SyncPart as `${Part}_modified_ms`]: number | null;
};

export interface DatasetRow extends SyncColumns {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly state: DatasetState;
  readonly metadata: string;
  readonly upload_status: UploadStatus;
  readonly upload_message: string | null;
  readonly import_status: ImportStatus;
  readonly import_messages: string[];
  readonly installs: [TargetId, InstallKind, InstallStatus, string[]][] | null;
}

export interface SharesRow {
  readonly shares: ShareRecord[] | null;
}

export function datasetRecord(row: DatasetRow): DatasetRecord {
  return {
    owner: row.owner_id,
    dataset: row.dataset_id,
    state: row.state,
    metadata: storedMetadata(row.dataset_id, row.owner_id, row.metadata),
    upload: { status: row.upload_status, message: row.upload_message ?? undefined },
    import: row.upload_status === 'success' ? { status: row.import_status, messages: row.import_messages } : undefined,
    installs: (row.installs ?? []).map(([target, kind, status, messages]) => ({ target, kind, status, messages })),
    sync: syncVersions(row),
  };
}

function syncVersions(row: SyncColumns): Partial<Record<SyncPart, ObjectVersion>> {
  const versions: Partial<Record<SyncPart, ObjectVersion>> = {};
  for (const part of SYNC_PARTS) {
    const [etag, modifiedMs] = [row[`${part}_etag`], row[`${part}_modified_ms`]];
    if (etag !== null && modifiedMs !== null) versions[part] = { modified: new Date(modifiedMs), etag };
  }
  return versions;
}
