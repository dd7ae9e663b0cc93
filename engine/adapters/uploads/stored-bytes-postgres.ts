// Entries of kept objects in the cache DB. Triggers keep the owner's counter exact (migrations/cache/0005-quota.sql). A statement
// that changes the counter locks it first. All lock the entries after it, by name, so that two of them cannot wait for each
// other. None waits for the row of a dataset. The counter serializes everything that an owner does, so no statement locks it
// that does not change it, and nothing may hold it over more than one statement.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetAddress } from '../../model/object-key.ts';
import type {
  CountedObject,
  HeldObject,
  KeptObject,
  KeptSnapshot,
  Reservation,
  SettledObject,
  StoredBytes,
  WantedObject,
} from '../../ports/storage-room.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';

/** Datasets that one query for stale entries returns. */
const STALE_AT_ONCE = 100;
/** Objects that one query for held entries returns. */
const HELD_AT_ONCE = 1_000;

const LOCK_COUNTER = `used as (
  insert into owner_usage as u (owner_id, bytes) values ($2::numeric, 0)
  on conflict (owner_id) do update set bytes = u.bytes returning u.bytes)`;

/**
 * Under the counter's lock `known` reads the entries' current state, not the state when the statement began. `others` is what the
 * owner uses besides the object once those before it are stored.
 */
const RESERVE = `
  with ${LOCK_COUNTER},
  known as materialized (
    select k.name, k.bytes from used, kept_object k where k.dataset_id = $1::text and k.name = any($3::text[])
    order by k.name for update of k),
  wanted as (
    select w.*, k.name is not null as is_known, coalesce(k.bytes, 0) as old, w.bytes - coalesce(k.bytes, 0) as more
    from unnest($3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[])
      with ordinality w (name, bytes, limit_bytes, replaces_raw, only_new, place) left join known k on k.name = w.name),
  asked as (
    select w.*, used.bytes - w.old
        + coalesce(sum(w.more) over (order by w.place rows between unbounded preceding and 1 preceding), 0)::bigint as others,
      case when w.replaces_raw then coalesce((select raw_bytes from dataset where dataset_id = $1::text), 0) else 0 end as raw
    from used, wanted w),
  judged as (
    select name, bytes, place, others, bytes <= old or limit_bytes is null or (only_new and is_known)
      or others - raw + bytes <= limit_bytes as fits from asked),
  held as (
    insert into kept_object as k (dataset_id, name, owner_id, bytes, holder)
    select $1::text, name, $2::numeric, bytes, $8::integer from judged where (select bool_and(fits) from judged)
    order by name
    on conflict (dataset_id, name)
    do update set bytes = greatest(k.bytes, excluded.bytes), holder = excluded.holder, turn = k.turn + 1
    returning name, turn)
  select j.name, j.bytes, j.fits, j.others as used, h.turn from judged j left join held h on h.name = j.name order by j.place`;

const HOLD = `
  with there as materialized (
    select name from kept_object where dataset_id = $1::text and owner_id = $2::numeric and name = any($3::text[])
    order by name for update),
  held as (
    update kept_object k set holder = $4::integer, turn = k.turn + 1 from there
    where k.dataset_id = $1::text and k.name = there.name returning k.name, k.turn)
  select name, turn from held`;

/**
 * Settles objects as CTEs of any statement, for callers that record in one transaction what they put and what it counts. The
 * names of those that were settled are in `kept_settled` and `kept_gone`. An object whose turn was superseded is left alone.
 *
 * The counter is locked only if the bytes of an entry differ from what was reserved, which is rare. The bytes of an entry do not
 * change without its turn, so it is enough to look at them before they are locked.
 * @param given a table of one row on which it depends: without that row nothing is settled
 */
export function settleCtes(
  { dataset, owner }: DatasetAddress,
  objects: readonly SettledObject[],
  parameters: SqlParameters,
  given = '(select) as anyway',
): readonly string[] {
  const id = parameters.add(dataset, 'text');
  const names = parameters.add(objects.map(nameOf), 'text[]');
  const turns = parameters.add(objects.map(turnOf), 'bigint[]');
  // The driver sends undefined as null.
  const bytes = parameters.add(objects.map(bytesOf), 'bigint[]');
  return [
    `kept_now as materialized (
      select k.name, k.turn, s.bytes, k.bytes is distinct from s.bytes as is_other
      from ${given}, unnest(${names}, ${turns}, ${bytes}) s (name, turn, bytes)
      join kept_object k on k.dataset_id = ${id} and k.name = s.name and k.turn = s.turn)`,
    `kept_counter as (
      insert into owner_usage as u (owner_id, bytes)
      select ${parameters.add(owner, 'numeric')}, 0 where exists (select from kept_now where is_other)
      on conflict (owner_id) do update set bytes = u.bytes returning u.bytes)`,
    `kept_locked as materialized (
      select k.name, n.bytes from (select count(*) from kept_counter) c, kept_now n
      join kept_object k on k.dataset_id = ${id} and k.name = n.name and k.turn = n.turn
      order by k.name for update of k)`,
    `kept_settled as (
      update kept_object k set bytes = l.bytes, holder = null from kept_locked l
      where k.dataset_id = ${id} and k.name = l.name and l.bytes is not null returning k.name)`,
    `kept_gone as (
      delete from kept_object k using kept_locked l
      where k.dataset_id = ${id} and k.name = l.name and l.bytes is null returning k.name)`,
  ];
}

const nameOf = ({ name }: { readonly name: string }): string => name;
const turnOf = ({ turn }: HeldObject): number => turn;
const bytesOf = ({ bytes }: { readonly bytes: number | undefined }): number | undefined => bytes;

const HELD = `
  select owner_id::text as owner, dataset_id as dataset, name from kept_object where holder = $1::integer limit ${HELD_AT_ONCE}`;

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
  readonly #frequent: Sql;
  readonly #instance: number;

  /**
   * @param instance this process's id; while its session lock is held, its entries are not stale
   * @param frequent for the statements of each import; default `db`
   */
  constructor(db: Pick<Postgres, 'query'>, instance: number, frequent: Sql = db) {
    this.#db = db;
    this.#frequent = frequent;
    this.#instance = instance;
  }

  async reserve(at: DatasetAddress, objects: readonly WantedObject[], signal: AbortSignal): Promise<Reservation> {
    signal.throwIfAborted();
    const rows = await this.#frequent.query<CountedObject & { fits: boolean; used: number; turn: number | null }>(
      RESERVE,
      [
        at.dataset,
        at.owner,
        objects.map(nameOf),
        objects.map(bytesOf),
        objects.map(({ limitBytes }) => limitBytes),
        objects.map(({ replacesRaw = false }) => replacesRaw),
        objects.map(({ onlyNew = false }) => onlyNew),
        this.#instance,
      ],
      'kept-reserve',
    );
    const unfit = rows.find(({ fits }) => !fits);
    if (unfit) return { fits: false, object: { name: unfit.name, bytes: unfit.bytes }, usedBytes: unfit.used };
    return { fits: true, turns: rows.map(({ turn }) => turn as number) };
  }

  async hold(at: DatasetAddress, names: readonly string[], signal: AbortSignal): Promise<readonly HeldObject[]> {
    signal.throwIfAborted();
    return this.#db.query<HeldObject>(HOLD, [at.dataset, at.owner, names, this.#instance], 'kept-hold');
  }

  async settle(at: DatasetAddress, objects: readonly SettledObject[], signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    const text = `with ${settleCtes(at, objects, parameters).join(', ')}
      select name from kept_settled union all select name from kept_gone`;
    return (await this.#db.query<{ name: string }>(text, parameters.values, 'kept-settle')).map(nameOf);
  }

  async held(signal: AbortSignal): Promise<readonly KeptObject[]> {
    signal.throwIfAborted();
    return this.#db.query<{ owner: UserId; dataset: DatasetId; name: string }>(HELD, [this.#instance], 'kept-held');
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
