// Rows of resumable uploads in the cache DB. Triggers count what they reserve (migrations/cache/0011-resumable-uploads.sql). A
// claim belongs to a process until it is released. If the process dies, the next claim succeeds at once.

import type { UploadId, UserId } from '../../model/ids.ts';
import type {
  ClaimState,
  NewResumableUpload,
  ResumableCreation,
  ResumableUpload,
  ResumableUploads,
  UploadClaim,
  UploadProgress,
} from '../../ports/resumable-uploads.ts';
import { keyLost, sealingCtes } from '../idempotency/idempotency-keys-postgres.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';

interface CreateRow {
  readonly ours: boolean;
  readonly free: boolean;
  readonly created: boolean;
}

interface Row extends Omit<ResumableUpload, 'place' | 'sha256'> {
  readonly place: string | null;
  readonly sha256: string | null;
}

const COLUMNS = `u.id, u.owner_id::text as owner, u.length_bytes as length, u.offset_bytes as "offset", u.file_name as "fileName",
  u.metadata, u.place, encode(u.sha256, 'hex') as sha256, (extract(epoch from u.expires_at) * 1000)::bigint as "expiresMs"`;

function createStatement(
  { id, owner, length, fileName, metadata, expiresMs, sha256 }: NewResumableUpload,
  { bytes, uploads, keyed }: ResumableCreation,
  parameters: SqlParameters,
): string {
  const ownerId = parameters.add(owner, 'numeric');
  const size = parameters.add(length, 'bigint');
  const most = parameters.add(uploads, 'bigint');
  const key = keyed && sealingCtes(keyed, 'created', parameters);
  const ours = key ? 'exists (select from key_claim)' : 'true';
  const texts = [fileName, metadata].map((text) => parameters.add(text, 'text')).join(', ');
  return `
  with ${key ? `${key.claim},` : ''}
  counted as (
    select ${ours} as ours, count(*) < ${most} as free from (
      select from resumable_upload where owner_id = ${ownerId} and state = 'open' limit ${most}) o),
  used as (
    insert into owner_usage as u (owner_id, bytes) select ${ownerId}, 0 from counted where free and ours
    on conflict (owner_id) do update set bytes = u.bytes returning u.bytes),
  created as (
    insert into resumable_upload (id, owner_id, length_bytes, reserved_bytes, file_name, metadata, expires_at, sha256)
    select ${parameters.add(id, 'text')}, ${ownerId}, ${size}, ${size}, ${texts},
      to_timestamp(${parameters.add(expiresMs, 'bigint')}::double precision / 1000),
      decode(${parameters.add(sha256 ?? null, 'text')}, 'hex')
    from used where used.bytes + ${size} <= ${parameters.add(bytes, 'bigint')} returning id)
  ${key ? `, ${key.sealed}` : ''}
  select counted.ours, counted.free, exists (select from created) as created from counted`;
}

/** At most one row. Whether it is free is read under its lock. */
const CLAIM = `
  with found as materialized (
    select id, holder is null or not instance_alive(holder) as free from resumable_upload
    where id = $1 and owner_id = $2::numeric and state = 'open' and expires_at > to_timestamp($3::double precision / 1000)
    for update)
  update resumable_upload u set
    turn = case when f.free then u.turn + 1 else u.turn end,
    holder = case when f.free then $4::integer else u.holder end,
    wanted = not f.free
  from found f where u.id = f.id
  returning ${COLUMNS}, u.turn, f.free`;

const OURS = `id = $1 and turn = $2::bigint and holder = $3::integer and state = 'open'`;

/** Used or gone uploads, in no particular order. Their rows stay until `forget`. */
const LEFTOVERS = `
  with expired as (
    update resumable_upload u set state = 'gone', holder = null
    where u.state = 'open' and u.expires_at <= to_timestamp($1::double precision / 1000)
      and (u.holder is null or not instance_alive(u.holder))
    returning u.id)
  select id from expired union all (select id from resumable_upload where state <> 'open' limit 1000)`;

export class PostgresResumableUploads implements ResumableUploads {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #instance: number;

  /** @param instance id of this process, whose claims are valid while its session lock is held */
  constructor(db: Pick<Postgres, 'query'>, instance: number) {
    this.#db = db;
    this.#instance = instance;
  }

  async create(
    upload: NewResumableUpload,
    creation: ResumableCreation,
    signal: AbortSignal,
  ): Promise<'created' | 'over quota' | 'too many uploads'> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    const text = createStatement(upload, creation, parameters);
    const [row] = await this.#db.query<CreateRow>(text, parameters.values);
    if (row?.ours === false) throw keyLost();
    if (!row?.free) return 'too many uploads';
    return row.created ? 'created' : 'over quota';
  }

  async find(id: UploadId, owner: UserId, signal: AbortSignal): Promise<ResumableUpload | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<Row>(
      `select ${COLUMNS} from resumable_upload u where id = $1 and owner_id = $2::numeric and state = 'open'`,
      [id, owner],
    );
    return row && uploadOf(row);
  }

  async list(owner: UserId, signal: AbortSignal): Promise<readonly ResumableUpload[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<Row>(
      `select ${COLUMNS} from resumable_upload u where owner_id = $1::numeric and state = 'open' order by created, id limit 2000`,
      [owner],
    );
    return rows.map(uploadOf);
  }

  async claim(
    id: UploadId,
    owner: UserId,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<UploadClaim | 'held' | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<Row & { turn: number; free: boolean }>(CLAIM, [
      ...[id, owner, nowMs, this.#instance],
    ]);
    if (!row) return undefined;
    return row.free ? { upload: uploadOf(row), turn: row.turn } : 'held';
  }

  async check(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState> {
    return this.#change(claim, `select wanted from resumable_upload where ${OURS}`, [], signal);
  }

  async advance(
    claim: UploadClaim,
    { offset, place, expiresMs, isVerified }: UploadProgress,
    signal: AbortSignal,
  ): Promise<ClaimState> {
    return this.#change(
      claim,
      `update resumable_upload set offset_bytes = $4, place = $5, expires_at = to_timestamp($6::double precision / 1000),
         sha256 = case when $7::boolean then null else sha256 end
       where ${OURS} returning wanted`,
      [offset, place ?? null, expiresMs, isVerified === true],
      signal,
    );
  }

  async release(claim: UploadClaim, signal: AbortSignal): Promise<void> {
    await this.#change(
      claim,
      `update resumable_upload set holder = null, wanted = false where ${OURS} returning wanted`,
      [],
      signal,
    );
  }

  async giveUp(claim: UploadClaim, signal: AbortSignal): Promise<ClaimState> {
    return this.#change(
      claim,
      `update resumable_upload set state = 'gone', holder = null where ${OURS} returning wanted`,
      [],
      signal,
    );
  }

  async leftovers(nowMs: number, signal: AbortSignal): Promise<readonly UploadId[]> {
    signal.throwIfAborted();
    return (await this.#db.query<{ id: UploadId }>(LEFTOVERS, [nowMs])).map(({ id }) => id);
  }

  async forget(id: UploadId, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(`delete from resumable_upload where id = $1 and state <> 'open'`, [id]);
  }

  async #change(
    { upload, turn }: UploadClaim,
    statement: string,
    values: readonly unknown[],
    signal: AbortSignal,
  ): Promise<ClaimState> {
    signal.throwIfAborted();
    const all = [upload.id, turn, this.#instance, ...values];
    const [row] = await this.#db.query<{ wanted: boolean }>(statement, all);
    if (!row) return 'lost';
    return row.wanted ? 'wanted' : 'ours';
  }
}

const uploadOf = ({ place, sha256, ...row }: Row): ResumableUpload => {
  const { id, owner, length, offset, fileName, metadata, expiresMs } = row;
  const upload = { id, owner, length, offset, fileName, metadata, expiresMs, place: place ?? undefined };
  return sha256 === null ? upload : { ...upload, sha256 };
};
