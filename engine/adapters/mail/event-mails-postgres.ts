// Mails about events of datasets in the cache database: one row for each user who wants some, with what the next mail tells.

import { EVENT_MAIL_BOUNDS, MAILED_KINDS, type MailedKind, type ToldEvent } from '../../model/event-mail.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetEvents } from '../../ports/dataset-events.ts';
import type { DueEventMail, EventMailOutbox, EventMailWishes } from '../../ports/event-mails.ts';
import { EventReader, toldOf } from '../datasets/event-reader.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { storableJson, storableText } from '../postgres/sql-parameters.ts';

const { collectMs, periodMs, listed } = EVENT_MAIL_BOUNDS;

/** Events that are kept for one mail, when no mail can be sent for long. Newer ones are not told. */
const MOST_KEPT = 10_000;

const SET = `
insert into event_mail as m (user_id, kinds, since) values ($1::numeric, $2::text[], $3::bigint)
on conflict (user_id) do update set kinds = excluded.kinds`;

/** A user who just gives mails up is waited for: then there is nobody to keep events for. */
const LOCK_USERS = 'select from event_mail where user_id = any ($1::numeric[]) order by user_id for key share';

const COLLECT = `
with event as materialized (
  select * from jsonb_to_recordset($1::jsonb)
    as x (position bigint, at timestamptz, kind text, dataset text, detail jsonb, told numeric[])),
made as (
  insert into event_mail_item (user_id, position, at, kind, dataset_id, detail)
  select m.user_id, e.position, e.at, e.kind, e.dataset, e.detail
  from event e join event_mail m on m.user_id = any (e.told) and e.kind = any (m.kinds) and m.since < e.position
  where (select count(*) from (
    select from event_mail_item i where i.user_id = m.user_id limit ${MOST_KEPT}) kept) < ${MOST_KEPT}
  returning user_id)
update event_mail m set due = greatest($2::timestamptz + interval '${collectMs} milliseconds',
  m.sent_at + interval '${periodMs} milliseconds')
where m.due is null and m.user_id in (select user_id from made)`;

const CLAIM = `
with chosen as materialized (
  select user_id from event_mail where due <= $1 order by due, user_id limit 1 for update skip locked)
update event_mail m set due = $2, attempts = attempts + 1 from chosen c where m.user_id = c.user_id
returning m.user_id::text as user, m.attempts`;

/** With the name of a dataset only if the user may see it now. Whether access was granted is known to the access service. */
const ITEMS = `
select i.at, i.kind, i.dataset_id as dataset, i.detail, d.name, count(*) over () as total, max(i.position) over () as last
from event_mail_item i left join dataset d on d.dataset_id = i.dataset_id
  and (d.owner_id = i.user_id or d.visibility <> 'private' or i.kind = 'access-expiring' or exists (
    select from dataset_share s where s.dataset_id = d.dataset_id and s.recipient_id = i.user_id and s.offer = 'grant'))
where i.user_id = $1::numeric order by i.position limit ${listed}`;

/** A user who gave mails up and wants some again meanwhile may have nothing to be told. */
const POSTPONE = `
update event_mail m set failure = $3, attempts = case when $4 then attempts else greatest(attempts - 1, 0) end,
  due = case when exists (select from event_mail_item i where i.user_id = m.user_id) then $2::timestamptz end
where m.user_id = $1::numeric`;

/** What came after the mail was composed is told by the next one. */
const DONE = `
with told as (delete from event_mail_item where user_id = $1::numeric and position <= $2::bigint)
update event_mail m set sent_at = $3::timestamptz, attempts = 0, failure = $4,
  due = case when exists (select from event_mail_item i where i.user_id = m.user_id and i.position > $2::bigint)
    then $3::timestamptz + interval '${periodMs} milliseconds' end
where m.user_id = $1::numeric`;

interface ItemRow {
  readonly at: Date;
  readonly kind: MailedKind;
  readonly dataset: DatasetId;
  readonly detail: ToldEvent['detail'];
  readonly name: string | null;
  readonly total: number;
  readonly last: number;
}

export class PostgresEventMails implements EventMailWishes, EventMailOutbox {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #events: Pick<DatasetEvents, 'page' | 'newest'>;
  readonly #reader: EventReader;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>, events: Pick<DatasetEvents, 'page' | 'newest'>) {
    this.#db = db;
    this.#events = events;
    this.#reader = new EventReader(db, events, 'mails', 'select min(since) from event_mail');
  }

  async kinds(user: UserId, signal: AbortSignal): Promise<readonly MailedKind[]> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ kinds: readonly string[] }>(
      'select kinds from event_mail where user_id = $1::numeric',
      [user],
    );
    return MAILED_KINDS.filter((kind) => row?.kinds.includes(kind));
  }

  async set(user: UserId, kinds: readonly MailedKind[], signal: AbortSignal): Promise<void> {
    if (kinds.length > 0) await this.#db.query(SET, [user, [...new Set(kinds)], await this.#events.newest(signal)]);
    else await this.#db.query('delete from event_mail where user_id = $1::numeric', [user]);
  }

  async collect(now: Date, signal: AbortSignal): Promise<void> {
    for (let more = true; more; ) {
      const fresh = await this.#reader.read(now, signal);
      if (!fresh) return;
      more = fresh.more;
      const rows = fresh.events.map(({ id, at, kind, dataset, detail, ...event }) => ({
        ...{ position: id, at: new Date(at), kind, dataset, detail },
        told: toldOf({ id, at, kind, dataset, detail, ...event }),
      }));
      await this.#db.transaction(async (sql) => {
        if (!(await this.#reader.move(sql, fresh))) return;
        await sql.query(LOCK_USERS, [[...new Set(rows.flatMap(({ told }) => told))]]);
        await sql.query(COLLECT, [storableJson(JSON.stringify(rows)), now]);
      }, signal);
    }
  }

  async claim(now: Date, until: Date, signal: AbortSignal): Promise<DueEventMail | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ user: UserId; attempts: number }>(CLAIM, [now, until]);
    if (!row) return undefined;
    const items = await this.#db.query<ItemRow>(ITEMS, [row.user]);
    const events = items.map(({ at, kind, dataset, detail, name }) => ({
      ...{ at: at.getTime(), kind, dataset, detail },
      name: name ?? undefined,
    }));
    return { ...row, events, total: items[0]?.total ?? 0, upTo: items[0]?.last ?? 0 };
  }

  async done(
    { user, upTo }: Pick<DueEventMail, 'user' | 'upTo'>,
    now: Date,
    failure: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(DONE, [user, upTo, now, failure === undefined ? null : storableText(failure)]);
  }

  async postpone(user: UserId, due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(POSTPONE, [user, due, storableText(failure), counted]);
  }

  async waiting(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ mails: number }>(
      'select count(*) as mails from event_mail where due is not null',
    );
    return row?.mails ?? 0;
  }
}
