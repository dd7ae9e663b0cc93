// Entries of kept objects in the cache DB. Triggers keep the owner's counter exact (migrations/cache/0005-quota.sql). Every statement
// locks the counter first and the entries after it, so that two of them cannot wait for each other; none waits for the row
// of a dataset.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetAddress } from '../../model/object-key.ts';
import type {
  CountedObject,
  KeptObject,
  KeptSnapshot,
  Reservation,
  ReserveOptions,
  StoredBytes,
} from '../../ports/storage-room.ts';
import type { Postgres } from '../postgres/postgres.ts';

/** Datasets that one query for stale entries returns. */
const STALE_AT_ONCE = 100;

const LOCK_COUNTER = `used as (
  insert into owner_usage as u (owner_id, bytes) values ($2::numeric, 0)
  on conflict (owner_id) do update set bytes = u.bytes returning u.bytes)`;

/** Under the counter's lock this reads the entry's current state, not the state when the statement began. */
const RESERVE = `
  with ${LOCK_COUNTER},
  known as materialized (
    select k.name, k.bytes from used, kept_object k where k.dataset_id = $1::text and k.name = $3::text for update of k),
  wanted as (
    select used.bytes - coalesce(k.bytes, 0) as others, coalesce(k.bytes, 0) as old, k.name is not null as is_known,
      case when $6::boolean then coalesce((select raw_bytes from dataset where dataset_id = $1::text), 0) else 0 end as raw
    from used left join known k on true),
  fitting as (
    select others, $4::bigint <= old or $5::bigint is null or ($7::boolean and is_known)
      or others - raw + $4::bigint <= $5::bigint as fits from wanted),
  held as (
    insert into kept_object as k (dataset_id, name, owner_id, bytes, holder)
    select $1::text, $3::text, $2::numeric, $4::bigint, $8::integer from fitting where fits
    on conflict (dataset_id, name)
    do update set bytes = greatest(k.bytes, excluded.bytes), holder = excluded.holder, turn = k.turn + 1
    returning turn)
  select fits, others as used, (select turn from held) as turn from fitting`;

const HOLD = `
  with there as (select name from kept_object where dataset_id = $1::text and name = any($3::text[])),
  held as (
    update kept_object k set holder = $4::integer, turn = k.turn + 1 from there
    where k.dataset_id = $1::text and k.name = there.name and k.owner_id = $2::numeric returning k.name, k.turn)
  select name, turn from held`;

const SETTLE = `
  with ${LOCK_COUNTER},
  settled as (
    update kept_object k set bytes = $5::bigint, holder = null from used
    where k.dataset_id = $1::text and k.name = $3::text and k.turn = $4::bigint returning k.name)
  select name from settled`;

const SETTLE_GONE = `
  with ${LOCK_COUNTER},
  settled as (
    delete from kept_object k using used
    where k.dataset_id = $1::text and k.name = $3::text and k.turn = $4::bigint returning k.name)
  select name from settled`;

const STALE = `
  select distinct k.owner_id::text as owner, k.dataset_id as dataset from kept_object k
  where k.holder in (select h.holder from (select distinct holder from kept_object where holder is not null) h
    where h.holder = 0 or not instance_alive(h.holder))
  limit ${STALE_AT_ONCE}`;

const SNAPSHOT = `
  select k.name, k.bytes, k.turn from kept_object k
  where k.dataset_id = $1::text and k.owner_id = $2::numeric
    and (k.holder is null or k.holder = 0 or not instance_alive(k.holder))`;

/** A name that is listed but not in the snapshot was put in the meantime. */
const RECOUNT = `
  with ${LOCK_COUNTER},
  listed as (select * from unnest($3::text[], $4::bigint[]) l (name, bytes)),
  known as (select * from unnest($5::text[], $6::bigint[]) s (name, turn)),
  gone as (
    delete from kept_object k using used, known s
    where k.dataset_id = $1::text and k.name = s.name and k.turn = s.turn
      and not exists (select from listed l where l.name = k.name)),
  counted as (
    update kept_object k set bytes = l.bytes, holder = null, turn = k.turn + 1 from used, known s, listed l
    where k.dataset_id = $1::text and k.name = s.name and k.turn = s.turn and l.name = k.name
      and (k.bytes <> l.bytes or k.holder is not null))
  insert into kept_object (dataset_id, name, owner_id, bytes)
  select $1::text, l.name, $2::numeric, l.bytes from used, listed l
  where not exists (select from known s where s.name = l.name)
  on conflict (dataset_id, name) do nothing`;

export class PostgresStoredBytes implements StoredBytes {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #instance: number;

  /** @param instance this process's id; while its session lock is held, its entries are not stale */
  constructor(db: Pick<Postgres, 'query'>, instance: number) {
    this.#db = db;
    this.#instance = instance;
  }

  async reserve(
    { owner, dataset, name }: KeptObject,
    bytes: number,
    { limitBytes, replacesRaw = false, onlyNew = false }: ReserveOptions,
    signal: AbortSignal,
  ): Promise<Reservation> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ fits: boolean; used: number; turn: number | null }>(
      RESERVE,
      [dataset, owner, name, bytes, limitBytes ?? null, replacesRaw, onlyNew, this.#instance],
      'kept-reserve',
    );
    return row?.turn == null ? { fits: false, usedBytes: row?.used ?? 0 } : { fits: true, turn: row.turn };
  }

  async hold(
    { owner, dataset }: DatasetAddress,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly turn: number }[]> {
    signal.throwIfAborted();
    return this.#db.query(HOLD, [dataset, owner, names, this.#instance], 'kept-hold');
  }

  async settle(
    { owner, dataset, name }: KeptObject,
    turn: number,
    bytes: number | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    signal.throwIfAborted();
    const rows =
      bytes === undefined
        ? await this.#db.query(SETTLE_GONE, [dataset, owner, name, turn], 'kept-settle-gone')
        : await this.#db.query(SETTLE, [dataset, owner, name, turn, bytes], 'kept-settle');
    return rows.length > 0;
  }

  async stale(signal: AbortSignal): Promise<readonly DatasetAddress[]> {
    signal.throwIfAborted();
    return this.#db.query<{ owner: UserId; dataset: DatasetId }>(STALE);
  }

  async snapshot({ owner, dataset }: DatasetAddress, signal: AbortSignal): Promise<KeptSnapshot> {
    signal.throwIfAborted();
    return this.#db.query<{ name: string; bytes: number; turn: number }>(SNAPSHOT, [dataset, owner]);
  }

  async recount(
    { owner, dataset }: DatasetAddress,
    before: KeptSnapshot,
    listed: readonly CountedObject[],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(RECOUNT, [
      ...[dataset, owner],
      ...[listed.map(({ name }) => name), listed.map(({ bytes }) => bytes)],
      ...[before.map(({ name }) => name), before.map(({ turn }) => turn)],
    ]);
  }

  usage(owner: UserId, signal: AbortSignal): Promise<number> {
    return ownerUsage(this.#db, owner, signal);
  }
}

/** Bytes that are stored and reserved for an owner. */
export async function ownerUsage(db: Pick<Postgres, 'query'>, owner: UserId, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const [row] = await db.query<{ bytes: number }>('select bytes from owner_usage where owner_id = $1::numeric', [
    owner,
  ]);
  return row?.bytes ?? 0;
}
