// Lists the datasets of the cache DB page by page. Each page is one short statement on an index. No transaction or cursor stays
// open between pages, however long the caller takes.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { DatasetState, ImportStatus, UploadStatus } from '../../model/status.ts';
import type { DatasetIndex, IndexedDataset, ObjectVersion, RetiredDataset, RetiredState } from '../../ports/catalog.ts';
import type { Postgres } from '../postgres/postgres.ts';

/** Must be exactly the expression of the index dataset_store_order. */
const STORE_ORDER = `(d.owner_id::text || '/' || d.dataset_id || '/') collate "C"`;

const COLUMNS = `d.dataset_id, d.owner_id::text as owner_id, d.state, d.type_name, d.type_version, d.install_targets,
    d.upload_status, d.import_status, d.meta_etag, d.meta_modified_ms, d.data_etag, d.data_modified_ms,
    d.shares_etag, d.shares_modified_ms`;

/**
 * The bounds are subqueries, so the planner does not know their values. It then uses one plan for every page, and never a plan
 * that sorts the remaining rows.
 */
const PAGE = `
  select ${COLUMNS}
  from dataset d where d.state <> 'receiving' and ${STORE_ORDER} > (select $1::text)
  order by ${STORE_ORDER} limit (select $2::bigint)`;

/** The condition on the import is that of the index dataset_import_open. */
const FORGOTTEN = `
  select ${COLUMNS}
  from dataset d where d.import_status in ('queued', 'in-progress') and d.upload_status in ('running', 'success')
    and d.state = 'live' and d.dataset_id > $1
    and not exists (select from job j where j.dataset_id = d.dataset_id and j.state <> 'dead')
  order by d.dataset_id limit $2`;

const TARGETS_COLUMN = `array(select t.target_id from dataset_target t where t.dataset_id = d.dataset_id) as targets`;

/** `state <> 'live'` repeats the predicate of the index dataset_not_live: a generic plan cannot derive it from `state = $1`. */
const RETIRED = `
  select d.dataset_id, d.owner_id::text as owner_id, d.state, ${TARGETS_COLUMN}
  from dataset d where d.state = $1 and d.state <> 'live' and d.dataset_id > $2
  order by d.dataset_id limit $3`;

const BEGIN_PRUNING = `
  with due as materialized (
    select dataset_id from dataset where dataset_id = any($1::text[]) and state = 'deleted'
    order by dataset_id for update skip locked),
  begun as (
    update dataset d set state = 'pruning', row_version = row_version + 1 from due
    where d.dataset_id = due.dataset_id returning d.dataset_id)
  select d.dataset_id, b.dataset_id is not null as begun
  from dataset d left join begun b on b.dataset_id = d.dataset_id
  where d.dataset_id = any($1::text[]) and d.state = 'deleted'`;

interface PageRow {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly state: DatasetState;
  readonly type_name: string;
  readonly type_version: string;
  readonly install_targets: TargetId[];
  readonly upload_status: UploadStatus;
  readonly import_status: ImportStatus;
  readonly meta_etag: string | null;
  readonly meta_modified_ms: number | null;
  readonly data_etag: string | null;
  readonly data_modified_ms: number | null;
  readonly shares_etag: string | null;
  readonly shares_modified_ms: number | null;
}

interface RetiredRow {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly state: RetiredState;
  readonly targets: TargetId[];
}

export class PostgresDatasetIndex implements DatasetIndex {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly IndexedDataset[]> {
    signal.throwIfAborted();
    // The empty string sorts before every address.
    const from = after ? datasetPrefix(after) : '';
    const rows = await this.#db.query<PageRow>(PAGE, [from, limit], 'dataset-index-page');
    return rows.map(indexed);
  }

  async forgotten(
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly IndexedDataset[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<PageRow>(FORGOTTEN, [after ?? '', limit], 'dataset-index-forgotten');
    return rows.map(indexed);
  }

  async retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<RetiredRow>(RETIRED, [state, after ?? '', limit], 'dataset-index-retired');
    return rows.map((row) => ({
      owner: row.owner_id,
      dataset: row.dataset_id,
      state: row.state,
      installTargets: row.targets.sort(),
    }));
  }

  async beginPruning(
    datasets: readonly DatasetId[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<DatasetId, 'begun' | 'locked'>> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ dataset_id: DatasetId; begun: boolean }>(
      BEGIN_PRUNING,
      [datasets],
      'dataset-index-begin-pruning',
    );
    return new Map(rows.map((row) => [row.dataset_id, row.begun ? 'begun' : 'locked']));
  }
}

function indexed(row: PageRow): IndexedDataset {
  const meta = versionOf(row.meta_etag, row.meta_modified_ms);
  const data = versionOf(row.data_etag, row.data_modified_ms);
  const shares = versionOf(row.shares_etag, row.shares_modified_ms);
  return {
    owner: row.owner_id,
    dataset: row.dataset_id,
    state: row.state,
    type: { name: row.type_name, version: row.type_version },
    installTargets: row.install_targets,
    upload: row.upload_status,
    import: row.import_status,
    sync: { ...(meta && { meta }), ...(data && { data }), ...(shares && { shares }) },
  };
}

/** Undefined when the part was never synced. */
const versionOf = (etag: string | null, modifiedMs: number | null): ObjectVersion | undefined =>
  etag === null || modifiedMs === null ? undefined : { etag, modified: new Date(modifiedMs) };
