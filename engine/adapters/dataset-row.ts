// One dataset of the cache DB as a record: the columns to select, children aggregated in the same row, and its reading.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetState, ImportStatus, InstallKind, InstallStatus, UploadStatus } from '../model/status.ts';
import type { DatasetRecord, ObjectVersion, SyncPart } from '../ports/catalog.ts';
import type { ShareRecord } from '../ports/dataset-queries.ts';
import { storedMetadata } from './stored-metadata.ts';

/** From `dataset d`: the versions of the store's objects that the cache reflects. */
export const SYNCS_COLUMN = `
  (select json_agg(json_build_array(s.part, s.etag, (extract(epoch from s.modified) * 1000)::bigint))
    from dataset_sync s where s.dataset_id = d.dataset_id) as syncs`;

/**
 * To select from `dataset d`. Metadata comes as text, because JSON numbers of the driver would lose digits of ids; the
 * children come as arrays, which cost the server half of what objects do.
 */
export const DATASET_COLUMNS = `
  d.dataset_id, d.owner_id::text as owner_id, d.state, d.metadata::text as metadata,
  d.upload_status, d.upload_message, d.import_status, d.import_messages,
  (select json_agg(json_build_array(i.target_id, i.kind, i.status, i.messages) order by i.target_id, i.kind)
    from install_status i where i.dataset_id = d.dataset_id) as installs,${SYNCS_COLUMN}`;

/** Also from `dataset d`: who the dataset was offered to. */
export const SHARES_COLUMN = `
  (select json_agg(json_build_object('recipient', s.recipient_id::text,
      'granted', s.offer is not distinct from 'grant', 'accepted', s.receipt is not distinct from 'accept')
      order by s.recipient_id) from dataset_share s where s.dataset_id = d.dataset_id) as shares`;

export interface SyncsRow {
  readonly syncs: [part: SyncPart, etag: string, modifiedMs: number][] | null;
}

export interface DatasetRow extends SyncsRow {
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

export function syncVersions({ syncs }: SyncsRow): Partial<Record<SyncPart, ObjectVersion>> {
  return Object.fromEntries(
    (syncs ?? []).map(([part, etag, modifiedMs]) => [part, { modified: new Date(modifiedMs), etag }]),
  );
}
