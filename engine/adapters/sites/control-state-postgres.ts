// What one install target knows of a dataset, on PostgreSQL: the columns to select from its control schema, and how to map them.

import type { InstallKind, InstallStatus } from '../../model/status.ts';
import type { ObjectVersion, SyncPart } from '../../ports/catalog.ts';
import type { ControlState } from '../../ports/install-target.ts';

/** Columns of the schema's `dataset d` and `dataset_install i`; `schema` is a quoted identifier. */
export const controlStateColumns = (schema: string): string => `
  d.type_name, d.type_version, i.deleted_status,
  (select json_agg(json_build_array(m.install_type, m.status, m.message, (extract(epoch from m.updated) * 1000)::bigint))
    from ${schema}.dataset_install_message m
    where m.dataset_id = i.dataset_id and m.target_id = i.target_id) as messages,
  (select json_agg(json_build_array(c.part, c.etag, (extract(epoch from c.modified) * 1000)::bigint))
    from ${schema}.sync_control c where c.dataset_id = i.dataset_id and c.target_id = i.target_id) as syncs`;

export interface ControlStateRow {
  readonly syncs: [part: SyncPart, etag: string, modifiedMs: number][] | null;
  readonly type_name: string;
  readonly type_version: string;
  readonly deleted_status: 0 | 1 | 2;
  readonly messages: [kind: InstallKind, status: InstallStatus, message: string | null, updatedMs: number][] | null;
}

export function controlState(row: ControlStateRow): ControlState {
  return {
    present: true,
    type: { name: row.type_name, version: row.type_version },
    deletedStatus: row.deleted_status,
    messages: Object.fromEntries(
      (row.messages ?? []).map(([kind, status, message, updatedMs]) => [
        kind,
        { status, message: message ?? undefined, updated: new Date(updatedMs) },
      ]),
    ),
    sync: syncVersions(row),
  };
}

function syncVersions({ syncs }: ControlStateRow): Partial<Record<SyncPart, ObjectVersion>> {
  return Object.fromEntries(
    (syncs ?? []).map(([part, etag, modifiedMs]) => [part, { modified: new Date(modifiedMs), etag }]),
  );
}
