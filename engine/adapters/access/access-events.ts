// What is told of requests for users' datasets, as rows until they are among the installer's events. Triggers write them
// (engine/adapters/migrations/access/0005-events.sql), except that a grant ends soon.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { AccessEvent, AccessEventKind, AccessEvents } from '../../ports/access-requests.ts';
import type { Sql } from '../postgres/postgres.ts';

/** More days mean no end: no timestamp is that far in the future. */
const MAX_DAYS = 1_000_000;

/** Told once for each end: a week before it, or after half of a shorter time. */
const QUEUE_EXPIRING = `
  with ending as (
    select e.end_user_id, e.dataset_id, c.owner_id, e.user_id, e.start_date + e.duration * interval '24 hours' as ends
    from end_user e join curated_dataset c on c.dataset_id = e.dataset_id and c.owner_id is not null
    where e.approval_status = 'approved' and e.duration between 1 and ${MAX_DAYS}),
  told as (
    insert into told_expiry as t (end_user_id, ends)
    select n.end_user_id, n.ends from ending n join end_user e on e.end_user_id = n.end_user_id
    where n.ends > $1 and n.ends - least(interval '7 days', e.duration * interval '12 hours') <= $1
    on conflict (end_user_id) do update set ends = excluded.ends where t.ends <> excluded.ends
    returning end_user_id, ends)
  insert into event_outbox (kind, dataset_id, owner_id, user_id, ends)
  select 'access-expiring', n.dataset_id, n.owner_id, n.user_id, t.ends from told t join ending n using (end_user_id)`;

/** Managers: the owner, and the providers who are. */
const QUEUED = `
  select o.event_id as id, o.event_key::text as key, (extract(epoch from o.at) * 1000)::bigint as at, o.kind,
    o.dataset_id as dataset, o.owner_id::text as owner, o.user_id::text as requester, o.ends,
    array(select p.user_id::text from provider p where p.dataset_id = o.dataset_id and p.is_manager
      order by p.provider_id limit 100) as managers
  from event_outbox o order by o.event_id limit $1`;

interface EventRow extends Omit<AccessEvent, 'ends'> {
  readonly kind: AccessEventKind;
  readonly dataset: DatasetId;
  readonly owner: UserId;
  readonly ends: Date | null;
}

export class PostgresAccessEvents implements AccessEvents {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async queueExpiring(now: Date, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query('delete from told_expiry where ends <= $1', [now]);
    await this.#db.query(QUEUE_EXPIRING, [now]);
  }

  async queued(limit: number, signal: AbortSignal): Promise<readonly AccessEvent[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<EventRow>(QUEUED, [limit], 'access-events');
    return rows.map(({ ends, ...event }) => ({ ...event, ...(ends ? { ends } : {}) }));
  }

  async copied(events: readonly AccessEvent[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query('delete from event_outbox where event_id = any($1::bigint[])', [events.map(({ id }) => id)]);
  }
}
