// Uploads in the cache DB: reservations against the owner's quota, and the transaction behind the 202.
//
// A row is `receiving` from begin, `accepted` from accept or resume, and `stored` from the catalog's change `uploadStored`.
// Abandon removes it. A row that was given up, or listed as an orphan, is held by nobody. What an owner uses is one counter row
// that triggers keep exact (migrations/cache/0005-quota.sql). Begin and grow lock it, so of two concurrent uploads that do not
// both fit, the second sees the first. Every statement commits by itself, so nobody waits for a counter longer than for one
// statement. Locks are taken in the order upload, dataset, counter, jobs.

import { type DatasetId, rootOf, type UserId } from '../../model/ids.ts';
import type { FileEntry } from '../../model/metadata.ts';
import type { DatasetAddress } from '../../model/object-key.ts';
import type { Lease } from '../../ports/jobs.ts';
import type {
  AcceptedUpload,
  BeginResult,
  OwnerBounds,
  UploadedDataset,
  UploadSource,
  Uploads,
} from '../../ports/uploads.ts';
import { rejected, transient } from '../../runtime/failure.ts';
import { DATASET_COLUMNS, type DatasetRow, datasetRecord } from '../catalog/dataset-row.ts';
import { fence, leaseLost } from '../postgres/leases-postgres.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { SqlParameters, statementName, storableJson } from '../postgres/sql-parameters.ts';
import { ownerUsage } from './stored-bytes-postgres.ts';
import { acceptStatement } from './upload-acceptance.ts';

interface UploadsOptions {
  /** This process's instance id: while its session lock is held, its `receiving` rows are not orphans. */
  readonly instance: number;
}

export class PostgresUploads implements Uploads {
  readonly #db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>;
  readonly #options: UploadsOptions;
  /** Uploads to give up for which the database has not confirmed it yet. */
  readonly #undecided = new Set<DatasetId>();

  constructor(db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>, options: UploadsOptions) {
    this.#db = db;
    this.#options = options;
  }

  async begin(at: DatasetAddress, bytes: number, bounds: OwnerBounds, signal: AbortSignal): Promise<BeginResult> {
    signal.throwIfAborted();
    const values = [at.dataset, at.owner, bytes, bounds.bytes, this.#options.instance, rootOf(at.dataset)];
    const [row] = await this.#db.grouped.query<{ free: boolean; fits: boolean; opened: boolean }>(
      BEGIN,
      [...values, bounds.jobs ?? null],
      'upload-begin',
    );
    if (!row?.free) return 'too many jobs';
    if (!row.fits) return 'over quota';
    if (!row.opened) throw rejected(`dataset ${at.dataset} exists or is being uploaded already`);
    return 'begun';
  }

  /** Also for an accepted upload, whose URL the upload lane downloads. */
  async grow(dataset: DatasetId, bytes: number, limitBytes: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    for (const statement of [GROW_RECEIVING, GROW_ACCEPTED]) {
      const [row] = await this.#db.query<{ fits: boolean }>(statement, [dataset, bytes, limitBytes]);
      if (row) return row.fits;
    }
    throw gone(dataset);
  }

  async accept(upload: AcceptedUpload, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#accept(this.#db.grouped, upload);
  }

  async resume(upload: AcceptedUpload, isWhole: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    return this.#db.transaction(async (sql) => {
      const values = [upload.dataset, upload.owner, this.#options.instance];
      if ((await sql.query(REOPEN, values)).length === 0) return false;
      if (await isWhole()) {
        await this.#accept(sql, upload);
        return true;
      }
      await sql.query(`delete from upload where dataset_id = $1 and state = 'receiving'`, [upload.dataset]);
      return false;
    }, signal);
  }

  async giveUp(dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    if (this.#undecided.size < UNDECIDED) this.#undecided.add(dataset);
    signal.throwIfAborted();
    const given = await this.#db.query(
      `update upload set holder = $2 where dataset_id = $1 and state = 'receiving' returning dataset_id`,
      [dataset, NOBODY],
    );
    // A separate statement, which sees the acceptance for which the first one may have waited.
    const accepted =
      given.length > 0
        ? []
        : await this.#db.query(`select from upload where dataset_id = $1 and state <> 'receiving'`, [dataset]);
    this.#undecided.delete(dataset);
    return accepted.length === 0;
  }

  async #accept(sql: Sql, upload: AcceptedUpload): Promise<void> {
    const parameters = new SqlParameters();
    const text = acceptStatement(upload, this.#options.instance, parameters);
    const rows = await sql.query(text, parameters.values, statementName(text));
    if (rows.length === 0) throw gone(upload.dataset);
  }

  async abandon(dataset: DatasetId, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(`delete from upload where dataset_id = $1 and state = 'receiving'`, [dataset]);
  }

  async find(dataset: DatasetId, signal: AbortSignal): Promise<UploadedDataset | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<DatasetRow & { readonly source: UploadSource | null }>(
      FIND,
      [dataset],
      'upload-find',
    );
    return row && { record: datasetRecord(row), source: row.source ?? undefined };
  }

  async source(dataset: DatasetId, signal: AbortSignal): Promise<UploadSource | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ source: UploadSource }>(
      `select source from upload where dataset_id = $1 and state = 'accepted'`,
      [dataset],
      'upload-source',
    );
    return row?.source;
  }

  async room(dataset: DatasetId, limitBytes: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ bytes: number }>(
      `select greatest($2::bigint - coalesce(o.bytes, 0) + d.raw_bytes, 0) as bytes
       from upload u join dataset d on d.dataset_id = u.dataset_id left join owner_usage o on o.owner_id = d.owner_id
       where u.dataset_id = $1 and u.state = 'accepted'`,
      [dataset, limitBytes],
    );
    return row?.bytes ?? 0;
  }

  async fetched(dataset: DatasetId, lease: Lease, files: readonly FileEntry[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    // What was left out on receipt stays recorded.
    const source = { kind: 'files', files } satisfies UploadSource;
    const [row] = await this.#db.query<{ ours: boolean }>(
      `with ${fence(dataset, lease, parameters)},
       fetched as (
         update upload u set source = (u.source - 'url') || ${parameters.add(storableJson(JSON.stringify(source)), 'jsonb')} from fence f
         where u.accepted_id = f.dataset_id and u.state = 'accepted')
       select exists (select from fence) as ours`,
      parameters.values,
    );
    if (!row?.ours) throw leaseLost(dataset);
  }

  async orphans(signal: AbortSignal): Promise<readonly DatasetAddress[]> {
    signal.throwIfAborted();
    const undecided = [...this.#undecided];
    const found = await this.#db.query<{ owner: UserId; dataset: DatasetId }>(ORPHANS, [NOBODY, undecided]);
    for (const dataset of undecided) this.#undecided.delete(dataset);
    return found;
  }

  usage(owner: UserId, signal: AbortSignal): Promise<number> {
    return ownerUsage(this.#db, owner, signal);
  }
}

const FIND = `
  select ${DATASET_COLUMNS}, (
    select u.source from upload u where u.dataset_id = d.dataset_id and u.state = 'accepted') as source
  from dataset d where d.dataset_id = $1`;

/** Dead jobs wait for a person, so they do not count. */
const BEGIN = `
  with counted as (
    select $7::bigint is null or (
      select count(*) from (
        select from job where lane in ('upload', 'import', 'install') and owner = $2::numeric and run_at < 'infinity'
        limit $7::bigint) j) < $7::bigint as free),
  used as (
    insert into owner_usage as u (owner_id, bytes) select $2::numeric, 0 from counted where free
    on conflict (owner_id) do update set bytes = u.bytes returning u.bytes),
  opened as (
    insert into upload (dataset_id, owner_id, state, holder, reserved_bytes)
    select $1::text, $2::numeric, 'receiving', $5::integer, $3::bigint from used
    where used.bytes + $3::bigint <= $4::bigint
      and not exists (select from dataset d where d.dataset_id = $1::text)
      and not exists (select from upload o where o.state = 'receiving' and o.owner_id = $2::numeric
        and o.dataset_id <> $1::text and regexp_replace(o.dataset_id, '[_.][0-9]+$', '') = $6::text)
    on conflict (dataset_id) do nothing returning dataset_id)
  select counted.free, used.bytes + $3::bigint <= $4::bigint as fits, exists (select from opened) as opened
  from counted left join used on true`;

/** No process has this id, so its rows are orphans. */
const NOBODY = 0;
/** While the database is unavailable, more than this many are left until this process ends. */
const UNDECIDED = 10_000;

/**
 * Takes the rows from their processes in the same statement. A process may only seem dead, because it lost its connection for a
 * moment. It would return with the same id and accept an upload that is then swept.
 */
const ORPHANS = `
  with taken as (
    update upload set holder = $1 where state = 'receiving' and (not instance_alive(holder) or dataset_id = any($2::text[]))
    returning owner_id, dataset_id, created)
  select owner_id::text as owner, dataset_id as dataset from taken order by created, dataset_id`;

const REOPEN = `
  insert into upload (dataset_id, owner_id, state, holder, reserved_bytes)
  select $1::text, $2::numeric, 'receiving', $3::integer, 0
  where not exists (select from dataset d where d.dataset_id = $1::text)
  on conflict (dataset_id) do nothing returning dataset_id`;

/** @param held selects and locks one row {dataset_id, owner_id, bytes}; without that row the result is empty */
const growStatement = (held: string, table: string, column: string): string => `
  with held as (${held}),
  used as (
    insert into owner_usage as u (owner_id, bytes) select owner_id, 0 from held
    on conflict (owner_id) do update set bytes = u.bytes returning u.bytes),
  fitting as (
    select held.dataset_id, held.bytes, $2::bigint <= held.bytes or used.bytes - held.bytes + $2::bigint <= $3::bigint as fits
    from held, used),
  grown as (
    update ${table} t set ${column} = $2::bigint from fitting f
    where t.dataset_id = f.dataset_id and f.fits and $2::bigint > f.bytes)
  select fits from fitting`;

const GROW_RECEIVING = growStatement(
  `select dataset_id, owner_id, reserved_bytes as bytes from upload
   where dataset_id = $1 and state = 'receiving' for update`,
  'upload',
  'reserved_bytes',
);

const GROW_ACCEPTED = growStatement(
  `select d.dataset_id, d.owner_id, d.raw_bytes as bytes from upload u join dataset d on d.dataset_id = u.dataset_id
   where u.dataset_id = $1 and u.state = 'accepted' for update of d`,
  'dataset',
  'raw_bytes',
);

const gone = (dataset: DatasetId): Error =>
  transient(`the upload of dataset ${dataset} was abandoned: its reservation is gone`);
