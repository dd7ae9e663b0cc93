// Changes of the directory store as a table of the cache database: the store's journal on one side, the change queue on the
// other.
//
//   (nothing)  --note-->     pending   the change may be made now; never delivered
//   pending    --release-->  ready     delivered at least once, then gone
//   pending    --drop-->     gone      the change was not made
//   pending, process dead    listed by orphans() for any caller, to be released or dropped

import type { ObjectChange } from '../../model/event.ts';
import type { ChangeQueue } from '../../ports/event-log.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { BATCH, ClaimedRows, freeRow } from '../postgres/claimed-rows.ts';
import type { Postgres } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';

const NOTIFY_CHANNEL = 'longshore_change';
const ORPHANS = 1_000;

const NOTE = `
insert into object_change (kind, key, etag, state, holder)
select n.kind, n.key, n.etag, 'pending', $4
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as n(kind, key, etag, place)
order by n.place
returning id`;

// One of our pending rows may be gone. While we were disconnected, another process considered us dead and dropped it, because
// the change had not been made yet. So a release contains the full entry and inserts it again if the row is missing.
const RELEASE = `
with given as materialized (
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as g(id, kind, key, etag)),
released as (
  update object_change o set state = 'ready', holder = null from given g where o.id = g.id and o.state = 'pending'
  returning o.id),
added as (
  insert into object_change (kind, key, etag, state)
  select g.kind, g.key, g.etag, 'ready' from given g
  where g.kind is not null and not exists (select from object_change o where o.id = g.id)
  order by g.id)
select pg_notify('${NOTIFY_CHANNEL}', '')`;

const CLAIM = `
with free as materialized (
  select id from object_change where state = 'ready' and ${freeRow('$3::integer[]')}
  order by id limit ${BATCH} for update skip locked),
claimed as (
  update object_change o set holder = $1, consumer = $2 from free where o.id = free.id returning o.id, o.kind, o.key)
select * from claimed order by id`;

const FIND_ORPHANS = `
select id, kind, key, etag from object_change
where state = 'pending' and holder <> $1 and holder not in (select id from alive_instance)
order by id limit ${ORPHANS}`;

interface ChangeRow {
  readonly id: number;
  readonly kind: ObjectChange['kind'];
  readonly key: string;
}

export class PostgresChangeQueue implements ChangeQueue, ChangeJournal {
  readonly #db: Postgres;
  readonly #instance: PostgresInstance;
  readonly #rows: ClaimedRows;
  /** Entries noted by this process that are neither released nor dropped: as many as changes in progress. */
  readonly #noted = new Map<number, JournalEntry>();

  constructor(db: Postgres, instance: PostgresInstance, clock: Clock, log: Logger) {
    this.#db = db;
    this.#instance = instance;
    this.#rows = new ClaimedRows(db, instance, clock, log);
  }

  async note(entries: readonly JournalEntry[], signal: AbortSignal): Promise<readonly number[]> {
    signal.throwIfAborted();
    if (entries.length === 0) return [];
    const rows = await this.#db.query<{ id: number }>(
      NOTE,
      [
        entries.map(({ change }) => change.kind),
        entries.map(({ change }) => change.key),
        entries.map(({ etag }) => etag ?? null),
        this.#instance.id,
      ],
      'change-note',
    );
    const ids = rows.map((row) => row.id).sort((a, b) => a - b);
    for (const [place, entry] of entries.entries()) this.#noted.set(ids[place] ?? 0, entry);
    return ids;
  }

  async release(ids: readonly number[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (ids.length === 0) return;
    const entries = ids.map((id) => this.#noted.get(id));
    await this.#db.query(
      RELEASE,
      [
        ids,
        entries.map((entry) => entry?.change.kind ?? null),
        entries.map((entry) => entry?.change.key ?? null),
        entries.map((entry) => entry?.etag ?? null),
      ],
      'change-release',
    );
    for (const id of ids) this.#noted.delete(id);
  }

  async drop(ids: readonly number[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query("delete from object_change where id = any($1) and state = 'pending'", [ids]);
    for (const id of ids) this.#noted.delete(id);
  }

  async orphans(signal: AbortSignal): Promise<readonly PendingEntry[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<ChangeRow & { readonly etag: string | null }>(FIND_ORPHANS, [this.#instance.id]);
    return rows.map(({ id, kind, key, etag }) => ({ id, change: { kind, key }, etag: etag ?? undefined }));
  }

  async consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#rows.consume(
      {
        table: 'object_change',
        channel: NOTIFY_CHANNEL,
        claim: (instance, consumer, others) =>
          this.#db.query<ChangeRow>(CLAIM, [instance, consumer, others], 'change-claim'),
      },
      (rows) => handle(rows.map(({ kind, key }) => ({ kind, key }))),
      signal,
    );
  }
}

// How the directory store announces its changes so that a crash loses none: a change is noted before it is made, and released
// afterwards (docs/design/decisions.md#embedded-stack).

export interface JournalEntry {
  readonly change: ObjectChange;
  /** Etag that the object will have once the change is made; undefined for removals. */
  readonly etag: string | undefined;
}

export interface PendingEntry extends JournalEntry {
  readonly id: number;
}

export interface ChangeJournal {
  /** Commits the entries as pending and returns their ids, in order. */
  note(entries: readonly JournalEntry[], signal: AbortSignal): Promise<readonly number[]>;
  /** The changes were made: deliver them to the consumer. */
  release(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** The changes were not made: discard them. */
  drop(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** Pending entries of dead processes; the caller releases or drops each. At most 1,000 per call. */
  orphans(signal: AbortSignal): Promise<readonly PendingEntry[]>;
}
