// Makes deliveries of events: each event becomes one for each subscription that it concerns.

import type { DatasetEvent } from '../../model/dataset-event.ts';
import type { DatasetEvents } from '../../ports/dataset-events.ts';
import { EventReader, type FreshEvents, toldOf } from '../datasets/event-reader.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { storableJson } from '../postgres/sql-parameters.ts';
import { WAS_DISABLED } from './webhooks-postgres.ts';

/** Deliveries that may wait for one receiver. With more, it is disabled: it can read what it missed from the event stream. */
const MOST_WAITING = 10_000;

/** The lock leaves out a subscription that is being removed: its deliveries could not be stored. */
const MAKE = `
with event as materialized (
  select * from jsonb_to_recordset($1::jsonb) as x (position bigint, id text, kind text, told numeric[], body text)),
made as (
  insert into webhook_delivery (webhook_id, message_id, position, kind, body, run_at, created)
  select w.id, e.id, e.position, e.kind, e.body, $2::timestamptz, $2::timestamptz
  from event e join webhook w on w.state = 'active' and w.since < e.position
    and (w.owner_id is null or w.owner_id = any (e.told)) and (w.kinds = '{}' or e.kind = any (w.kinds))
  order by e.position for key share of w
  returning webhook_id)
select distinct webhook_id from made`;

const DISABLE_FULL = `
with full_ones as materialized (
  select w.id from webhook w where w.id = any ($1::text[]) and ${MOST_WAITING} < (
    select count(*) from (
      select from webhook_delivery d where d.webhook_id = w.id and d.state = 'queued' limit ${MOST_WAITING + 1}) q)
  order by w.id for update),
disabled as (
  update webhook w set state = 'disabled', reason = 'more than ${MOST_WAITING} deliveries were waiting',
    mail_due = case when w.owner_id is not null then $2::timestamptz end
  from full_ones f where w.id = f.id and w.state = 'active')
update webhook_delivery d set state = 'dead', body = null, ended_at = $2,
  message = coalesce(d.message, '${WAS_DISABLED}')
from full_ones f where d.webhook_id = f.id and d.state = 'queued'`;

export class EventDeliveries {
  readonly #reader: EventReader;
  readonly #bodyOf: (event: DatasetEvent) => string;

  /** @param bodyOf the body of the message about an event */
  constructor(
    db: Pick<Postgres, 'query'>,
    events: Pick<DatasetEvents, 'page'>,
    bodyOf: (event: DatasetEvent) => string,
  ) {
    this.#reader = new EventReader(db, events, 'webhooks', `select min(since) from webhook where state = 'active'`);
    this.#bodyOf = bodyOf;
  }

  /** Undefined when there is nothing new, or it was asked a moment ago. */
  read(now: Date, signal: AbortSignal): Promise<FreshEvents | undefined> {
    return this.#reader.read(now, signal);
  }

  async make(sql: Sql, fresh: FreshEvents, now: Date): Promise<void> {
    if (!(await this.#reader.move(sql, fresh)) || fresh.events.length === 0) return;
    const rows = fresh.events.map((event) => ({
      ...{ position: event.id, id: messageId(event), kind: event.kind },
      ...{ told: toldOf(event), body: this.#bodyOf(event) },
    }));
    const made = await sql.query<{ webhook_id: string }>(MAKE, [storableJson(JSON.stringify(rows)), now]);
    if (made.length > 0) await sql.query(DISABLE_FULL, [made.map(({ webhook_id }) => webhook_id), now]);
  }
}

/**
 * The same for all subscriptions, so that a receiver of several can tell. With the time: after a restore from a backup, other events
 * get the ids of those that were lost, and receivers forget no message that they have seen.
 */
const messageId = ({ id, at }: DatasetEvent): string => `msg_${id}_${at.toString(36)}`;
