// Which datasets one install target knows, page by page, from its part of a control schema. Each page is one short indexed
// query. Nothing is held between pages, however long the caller takes.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { InstallKind, InstallStatus } from '../../model/status.ts';
import type { InstalledDataset, ObjectVersion, SyncPart, TargetIndex } from '../../ports/catalog.ts';
import type { ControlState } from '../../ports/install-target.ts';
import { type Postgres, quoteIdentifier } from '../postgres/postgres.ts';
import { statementName } from '../postgres/sql-parameters.ts';

interface TargetIndexOptions {
  readonly id: TargetId;
  /** The control schema. Named in the statement, because targets with different schemas may share a pool. */
  readonly schema: string;
}

interface PageRow extends ControlStateRow {
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
}

export class PostgresTargetIndex implements TargetIndex {
  readonly #id: TargetId;
  readonly #db: Pick<Postgres, 'query'>;
  readonly #page: string;

  constructor(db: Pick<Postgres, 'query'>, options: TargetIndexOptions) {
    this.#id = options.id;
    this.#db = db;
    this.#page = pageStatement(quoteIdentifier(options.schema));
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    // Every address is greater than the empty string.
    const values = [this.#id, after ? datasetPrefix(after) : '', limit];
    const rows = await this.#db.query<PageRow>(this.#page, values, statementName(this.#page));
    return rows.map((row) => ({ owner: row.owner, dataset: row.dataset_id, control: controlState(row) }));
  }
}

/**
 * `offset 0` keeps the planner from joining in another order than the index dataset_store_order. Bounds in subselects are
 * unknown to the planner, so it uses one plan wherever a page begins, without sorting.
 */
function pageStatement(schema: string): string {
  const order = `(d.owner::text || '/' || d.dataset_id || '/') collate "C"`;
  return `
    select d.dataset_id, d.owner::text as owner, ${controlStateColumns(schema)}
    from ${schema}.dataset d
    cross join lateral (
      select n.dataset_id, n.target_id, n.deleted_status from ${schema}.dataset_install n
      where n.dataset_id = d.dataset_id and n.target_id = $1 offset 0) i
    where ${order} > (select $2::text)
    order by ${order} limit (select $3::bigint)`;
}

// What one install target knows of a dataset: the columns to select from its control schema, and how to map them.

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
