// Subscriptions and the list of their deliveries, as owners and administrators see them.

import type { DeliveryState, WebhookId, WebhookMessage } from '../../model/webhook.ts';
import { TEST_TYPE } from '../../model/webhook.ts';
import type { DatasetEvents } from '../../ports/dataset-events.ts';
import type {
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookCreation,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookPage,
  Webhooks,
  WebhookViewer,
} from '../../ports/webhooks.ts';
import { sealKey } from '../idempotency/idempotency-keys-postgres.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import { COLUMNS, seenBy, viewerValue, WEBHOOK_CHANNEL, type WebhookRow, webhookOf } from './webhook-row.ts';

/** Creations of one owner take turns: each counts those before it. */
const LOCK_OWNER = `select pg_advisory_xact_lock(hashtextextended('webhooks of ' || coalesce($1, 'administrators'), 0))`;

const CREATE = `
insert into webhook as w (id, owner_id, url, kinds, secret, since, created)
select $1, $2::numeric, $3, $4::text[], $5, $6::bigint, $7::timestamptz
where (select count(*) from (
  select from webhook o where o.owner_id is not distinct from $2::numeric limit $8::bigint) own) < $8::bigint
returning ${COLUMNS}`;

/** A subscription that is activated forgets what failed before. */
const CHANGE = `
update webhook w set
  url = coalesce($3, w.url),
  kinds = coalesce($4::text[], w.kinds),
  state = coalesce($5, w.state),
  reason = case $5 when 'disabled' then $6 when 'active' then null else w.reason end,
  since = case when $5 = 'active' and w.state = 'disabled' then $7::bigint else w.since end,
  failures = case when $5 = 'active' or $3 is not null then 0 else w.failures end,
  failing_since = case when $5 = 'active' or $3 is not null then null else w.failing_since end,
  rest_until = case when $5 = 'active' or $3 is not null then null else w.rest_until end,
  mail_due = case when $5 = 'active' then null else w.mail_due end,
  mail_attempts = case when $5 = 'active' then 0 else w.mail_attempts end,
  previous_secret = case when $8::text is null then w.previous_secret else w.secret end,
  previous_until = case when $8::text is null then w.previous_until else $9::timestamptz end,
  secret = coalesce($8, w.secret)
where w.id = $1 and ${seenBy('$2')}
returning ${COLUMNS}`;

/** Why its deliveries are dead. */
export const WAS_DISABLED = 'the webhook was disabled';

/** Of a subscription that was disabled. A delivery that runs ends by itself. */
export const END_WAITING = `
update webhook_delivery d set state = 'dead', body = null, ended_at = $2,
  message = coalesce(d.message, '${WAS_DISABLED}')
where d.webhook_id = $1 and d.state = 'queued'`;

const NOTIFY = `select pg_notify('${WEBHOOK_CHANNEL}', '')`;

const DELIVERIES = `
select number, message_id, kind, state, attempts, created, case when state = 'queued' then run_at end as due, ended_at, status,
  message
from webhook_delivery where webhook_id = $1 and number < coalesce($2::bigint, 9223372036854775807)
order by number desc limit $3`;

const QUEUE_TEST = `
with hook as materialized (select id, state from webhook where id = $1 for update),
waiting as (select from webhook_delivery where webhook_id = $1 and position is null and state in ('queued', 'running')),
made as (
  insert into webhook_delivery (webhook_id, message_id, kind, body, run_at, created)
  select id, $2, $3, $4, $5::timestamptz, $5::timestamptz from hook where state = 'active' and not exists (select from waiting)
  returning webhook_id),
woken as materialized (select pg_notify('${WEBHOOK_CHANNEL}', '') from made)
select (select state from hook) as state, (select count(*) from woken) as made`;

/** Removed at once. */
const DROPPED = 1_000;
const DROP = `
delete from webhook_delivery where number = any (array(
  select number from webhook_delivery where ended_at < $1 order by ended_at limit ${DROPPED}))
returning number`;

export class PostgresWebhooks implements Webhooks, WebhookDeliveries {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #events: Pick<DatasetEvents, 'newest'>;

  /** @param events what was committed before a subscription is not for it */
  constructor(db: Pick<Postgres, 'query' | 'transaction'>, events: Pick<DatasetEvents, 'newest'>) {
    this.#db = db;
    this.#events = events;
  }

  async create(
    { id, owner, url, kinds, secret }: NewWebhook,
    { most, now, keyed }: WebhookCreation,
    signal: AbortSignal,
  ): Promise<Webhook | undefined> {
    const position = await this.#events.newest(signal);
    return this.#db.transaction(async (sql) => {
      await sql.query(LOCK_OWNER, [owner ?? null]);
      const [row] = await sql.query<WebhookRow>(CREATE, [
        ...[id, owner ?? null, storableText(url), kinds, secret, position, now, most],
      ]);
      const made = row && webhookOf(row);
      if (made && keyed) await sealKey(sql, keyed(made));
      return made;
    }, signal);
  }

  async list(viewer: WebhookViewer, { after, limit }: WebhookPage, signal: AbortSignal): Promise<readonly Webhook[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<WebhookRow>(
      `select ${COLUMNS} from webhook w where ${seenBy('$1')} and w.id > $2 order by w.id limit $3`,
      [viewerValue(viewer), after ?? '', limit],
    );
    return rows.map(webhookOf);
  }

  async find(id: WebhookId, viewer: WebhookViewer, signal: AbortSignal): Promise<Webhook | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<WebhookRow>(
      `select ${COLUMNS} from webhook w where w.id = $1 and ${seenBy('$2')}`,
      [id, viewerValue(viewer)],
    );
    return row && webhookOf(row);
  }

  async change(
    id: WebhookId,
    viewer: WebhookViewer,
    { url, kinds, state, secret, keyed }: WebhookChange,
    now: Date,
    signal: AbortSignal,
  ): Promise<Webhook | undefined> {
    const position = state?.is === 'active' ? await this.#events.newest(signal) : null;
    return this.#db.transaction(async (sql) => {
      const [row] = await sql.query<WebhookRow>(CHANGE, [
        ...[id, viewerValue(viewer), url === undefined ? null : storableText(url), kinds ?? null],
        ...[state?.is ?? null, state?.is === 'disabled' ? storableText(state.reason) : null, position],
        ...[secret?.next ?? null, secret?.previousUntil ?? null],
      ]);
      if (row && state?.is === 'disabled') await sql.query(END_WAITING, [id, now]);
      if (row) await sql.query(NOTIFY);
      if (row && keyed) await sealKey(sql, keyed);
      return row && webhookOf(row);
    }, signal);
  }

  async remove(id: WebhookId, viewer: WebhookViewer, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(`delete from webhook w where w.id = $1 and ${seenBy('$2')} returning id`, [
      ...[id, viewerValue(viewer)],
    ]);
    return rows.length > 0;
  }

  async page(
    id: WebhookId,
    { before, limit }: { readonly before?: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly WebhookDelivery[]> {
    signal.throwIfAborted();
    return (await this.#db.query<DeliveryRow>(DELIVERIES, [id, before ?? null, limit])).map(deliveryOf);
  }

  async queueTest(
    id: WebhookId,
    message: WebhookMessage,
    now: Date,
    signal: AbortSignal,
  ): Promise<'queued' | 'waiting' | 'disabled'> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ state: string | null; made: number }>(QUEUE_TEST, [
      ...[id, message.id, TEST_TYPE, message.body, now],
    ]);
    if (row?.state !== 'active') return 'disabled';
    return row.made > 0 ? 'queued' : 'waiting';
  }

  async dropBefore(at: number, signal: AbortSignal): Promise<number> {
    let dropped = 0;
    for (let batch = DROPPED; batch === DROPPED; dropped += batch) {
      signal.throwIfAborted();
      batch = (await this.#db.query(DROP, [new Date(at)])).length;
    }
    return dropped;
  }
}

interface DeliveryRow {
  readonly number: number;
  readonly message_id: string;
  readonly kind: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly created: Date;
  readonly due: Date | null;
  readonly ended_at: Date | null;
  readonly status: number | null;
  readonly message: string | null;
}

const deliveryOf = (row: DeliveryRow): WebhookDelivery => ({
  number: row.number,
  messageId: row.message_id,
  kind: row.kind,
  state: row.state,
  attempts: row.attempts,
  created: row.created,
  due: row.due ?? undefined,
  ended: row.ended_at ?? undefined,
  status: row.status ?? undefined,
  message: row.message ?? undefined,
});
