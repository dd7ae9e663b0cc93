// The catalog in the cache DB. Each statement that writes also checks the dataset's lease, and changes nothing without it.

import type { DatasetId, TargetId } from '../../model/ids.ts';
import type { DatasetMetadata } from '../../model/metadata.ts';
import type { DatasetAddress } from '../../model/object-key.ts';
import type { InstallKind } from '../../model/status.ts';
import type {
  Catalog,
  CatalogChange,
  DatasetRecord,
  DatasetWithAttempts,
  InstallAttempt,
} from '../../ports/catalog.ts';
import type { Lease } from '../../ports/jobs.ts';
import { defect } from '../../runtime/failure.ts';
import { fence, leaseLost } from '../postgres/leases-postgres.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { SqlParameters, statementName } from '../postgres/sql-parameters.ts';
import { changeCtes } from './catalog-changes.ts';
import { insertDataset } from './dataset-document.ts';
import { DATASET_COLUMNS, type DatasetRow, datasetRecord } from './dataset-row.ts';

const FIND = `select ${DATASET_COLUMNS} from dataset d where d.dataset_id = $1`;

/** From a dataset `d`. */
const ATTEMPTS_COLUMN = `
  (select json_agg(json_build_array(a.target_id, a.kind, a.attempts, (extract(epoch from a.not_before) * 1000)::bigint,
      a.started) order by a.target_id, a.kind)
    from install_attempt a where a.dataset_id = d.dataset_id) as attempts`;

const FIND_WITH_ATTEMPTS = `select ${DATASET_COLUMNS}, ${ATTEMPTS_COLUMN} from dataset d where d.dataset_id = $1`;

/** The condition is that of `importIsDue`. What is selected is from before the update. */
const beginImport = (dataset: DatasetId, lease: Lease, parameters: SqlParameters): string => `
  with ${fence(dataset, lease, parameters)},
  begun as (
    update dataset d set import_status = 'in-progress', import_messages = '{}' from fence f
    where d.dataset_id = f.dataset_id and d.state = 'live' and d.upload_status = 'success'
      and d.import_status in ('queued', 'in-progress'))
  select exists (select from fence) as ours, ${DATASET_COLUMNS}, ${ATTEMPTS_COLUMN}
  from (select) one left join dataset d on d.dataset_id = ${parameters.add(dataset, 'text')}`;

const ATTEMPTS = `select ${ATTEMPTS_COLUMN} from dataset d where d.dataset_id = $1`;

interface AttemptsRow {
  readonly attempts:
    | [target: TargetId, kind: InstallKind, attempts: number, notBeforeMs: number | null, started: boolean][]
    | null;
}

export class PostgresCatalog implements Catalog {
  readonly #db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>) {
    this.#db = db;
  }

  async find(dataset: DatasetId, signal: AbortSignal): Promise<DatasetRecord | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.grouped.query<DatasetRow>(FIND, [dataset], 'catalog-find');
    return row && datasetRecord(row);
  }

  async findWithAttempts(dataset: DatasetId, signal: AbortSignal): Promise<DatasetWithAttempts | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.grouped.query<DatasetRow & AttemptsRow>(
      FIND_WITH_ATTEMPTS,
      [dataset],
      'catalog-find-attempts',
    );
    return row && { ...datasetRecord(row), attempts: installAttempts(row) };
  }

  async beginImport(dataset: DatasetId, lease: Lease, signal: AbortSignal): Promise<DatasetWithAttempts | undefined> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    const text = beginImport(dataset, lease, parameters);
    const [row] = await this.#db.grouped.query<
      { readonly ours: boolean } & ((DatasetRow & AttemptsRow) | { readonly dataset_id: null })
    >(text, parameters.values, statementName(text));
    if (!row?.ours) throw leaseLost(dataset);
    return row.dataset_id === null ? undefined : { ...datasetRecord(row), attempts: installAttempts(row) };
  }

  async isReceiving(dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    return (await this.#db.query(RECEIVING, [dataset], 'catalog-receiving')).length > 0;
  }

  /**
   * Does nothing when the dataset is known. One that is being received counts as known, because its metadata is put before it
   * is accepted.
   */
  async register(
    at: DatasetAddress,
    metadata: DatasetMetadata,
    changes: readonly CatalogChange[],
    lease: Lease,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#db.transaction(async (sql) => {
      const added = await this.#add(sql, at, metadata, bytesToCount(changes), lease, signal);
      // A second statement, because a statement cannot change a row that it inserts.
      if (added) await this.#change(sql, at.dataset, lease, changes, signal);
    }, signal);
  }

  /** Returns false when the dataset exists or is being received. */
  async #add(
    sql: Sql,
    at: DatasetAddress,
    metadata: DatasetMetadata,
    bytesToCount: number | undefined,
    lease: Lease,
    signal: AbortSignal,
  ): Promise<boolean> {
    const parameters = new SqlParameters();
    const ctes = [
      fence(at.dataset, lease, parameters),
      ...insertDataset(
        at,
        metadata,
        { state: `'live'`, upload_status: `'success'`, import_status: `'queued'` },
        `fence f where not exists (
          select from upload u where u.dataset_id = f.dataset_id and u.state = 'receiving')`,
        parameters,
      ),
      ...(bytesToCount === undefined
        ? []
        : [
            `to_count as (
              insert into kept_object (dataset_id, name, owner_id, bytes, holder)
              select a.dataset_id, '', ${parameters.add(at.owner, 'numeric')},
                ${parameters.add(bytesToCount, 'bigint')}, 0 from added a
              on conflict (dataset_id, name) do nothing)`,
          ]),
    ];
    return fenced(sql, at.dataset, ctes, 'exists (select from added)', parameters, signal);
  }

  async write(dataset: DatasetId, lease: Lease, changes: readonly CatalogChange[], signal: AbortSignal): Promise<void> {
    await this.#change(this.#db.grouped, dataset, lease, changes, signal);
  }

  async #change(
    sql: Sql,
    dataset: DatasetId,
    lease: Lease,
    changes: readonly CatalogChange[],
    signal: AbortSignal,
  ): Promise<void> {
    if (changes.length === 0) return;
    const parameters = new SqlParameters();
    const ctes = [fence(dataset, lease, parameters), ...changeCtes(dataset, changes, parameters)];
    const there = await fenced(sql, dataset, ctes, 'exists (select from changed)', parameters, signal);
    if (!there) throw unknownDataset(dataset);
  }

  async remove(dataset: DatasetId, lease: Lease, signal: AbortSignal): Promise<void> {
    const parameters = new SqlParameters();
    const ctes = [
      fence(dataset, lease, parameters),
      'removed as (delete from dataset d using fence f where d.dataset_id = f.dataset_id)',
    ];
    await fenced(this.#db, dataset, ctes, 'true', parameters, signal);
  }

  async attempts(dataset: DatasetId, signal: AbortSignal): Promise<readonly InstallAttempt[]> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<AttemptsRow>(ATTEMPTS, [dataset], 'catalog-attempts');
    return row ? installAttempts(row) : [];
  }
}

const RECEIVING = `select from upload where dataset_id = $1 and state = 'receiving'`;

const installAttempts = ({ attempts }: AttemptsRow): readonly InstallAttempt[] =>
  (attempts ?? []).map(([target, kind, count, notBeforeMs, started]) => ({
    target,
    kind,
    attempts: count,
    notBefore: notBeforeMs === null ? undefined : new Date(notBeforeMs),
    started,
  }));

/** Runs the CTEs as one statement. Throws when the lease is lost. Returns the value of the condition `done`. */
async function fenced(
  sql: Sql,
  dataset: DatasetId,
  ctes: readonly string[],
  done: string,
  parameters: SqlParameters,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const text = `with ${ctes.join(',\n')} select exists (select from fence) as ours, ${done} as done`;
  const [row] = await sql.query<{ ours: boolean; done: boolean }>(text, parameters.values, statementName(text));
  if (!row?.ours) throw leaseLost(dataset);
  return row.done;
}

/**
 * Undefined when the changes list the kept objects. Otherwise the sweep counts them from a listing. Until then, the size of the
 * uploaded files is counted instead.
 */
function bytesToCount(changes: readonly CatalogChange[]): number | undefined {
  if (changes.some(({ set }) => set === 'kept')) return undefined;
  const files = changes.flatMap((change) => (change.set === 'uploadFiles' ? change.files : []));
  return files.reduce((sum, { size }) => sum + size, 0);
}

const unknownDataset = (dataset: DatasetId): Error => defect(`dataset ${dataset} is not in the catalog`);
