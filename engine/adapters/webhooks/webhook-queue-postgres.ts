// The queue of deliveries in PostgreSQL. A delivery is claimed for a time by the database's clock. The row of a subscription is
// locked before its deliveries, by everybody.

import type { UserId } from '../../model/ids.ts';
import { tenantOfWebhook, type WebhookId, type WebhookSecret, type WebhookState } from '../../model/webhook.ts';
import type {
  WebhookClaim,
  WebhookClaimRequest,
  WebhookCompletion,
  WebhookOutcome,
  WebhookQueue,
} from '../../ports/webhooks.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import type { EventDeliveries } from './event-deliveries.ts';
import { WEBHOOK_CHANNEL } from './webhook-row.ts';
import { END_WAITING, WAS_DISABLED } from './webhooks-postgres.ts';

/** Deliveries of one subscription that run at a time, over all processes. */
const AT_ONCE = 4;
/** Subscriptions that one claim looks at. Those that rest count too; after a few days they are disabled. */
const SUBSCRIPTIONS = 10_000;

/** Serializes claims, so that each sees what subscriptions have running. */
const LOCK = `select pg_advisory_xact_lock(hashtextextended('webhook claims', 0))`;

const LOCK_WEBHOOKS = 'select from webhook where id = any ($1::text[]) order by id for update';

/** The end of an attempt that still holds its delivery. */
const END = `
update webhook_delivery set state = $4, holder = null, lease_until = null, body = case when $4 = 'queued' then body end,
  run_at = coalesce($5::timestamptz, run_at), attempts = attempts + $6, ended_at = $7::timestamptz, status = $8, message = $9
where number = $1 and attempt = $2 and holder = $3 and state = 'running' returning number`;

const AGAIN = `
update webhook_delivery set state = 'queued', holder = null, lease_until = null
where number = $1 and attempt = $2 and holder = $3 and state = 'running'`;

const NOTE_DELIVERED = `
update webhook set failures = 0, failing_since = null, rest_until = null, last_at = $2, last_delivered = true, last_status = $3,
  last_message = null, previous_secret = case when previous_until > $2 then previous_secret end
where id = $1 returning state`;

const NOTE_FAILED = `
update webhook set failures = failures + 1, rest_until = $5,
  failing_since = case when last_at > $2::timestamptz - $7 * interval '1 millisecond' then coalesce(failing_since, $2) else $2 end,
  last_at = $2, last_delivered = false, last_status = $3, last_message = $4,
  state = case when $6::text is null then state else 'disabled' end, reason = coalesce(reason, $6),
  mail_due = case when $6 is not null and state = 'active' and owner_id is not null then $2 else mail_due end
where id = $1 returning state`;

/** Frees deliveries whose holder is gone or let the lease expire. */
const FREE_LOST = `
with lost as (
  select number from webhook_delivery
  where state = 'running' and (lease_until <= now() or (holder <> $1 and not instance_alive(holder)))
  order by number for no key update skip locked)
update webhook_delivery set state = 'queued', holder = null, lease_until = null
where number = any (array(select number from lost))`;

/**
 * Walks the subscriptions that have queued deliveries in the index, and reads the first due ones of each that does not rest.
 * One whose last attempt failed has one delivery running at a time. A delivery that came back, or was made, while its
 * subscription was being disabled is dead like the others.
 */
const CLAIM = `
with recursive waiting (webhook_id, n) as (
  (select webhook_id, 1 from webhook_delivery where state = 'queued' order by webhook_id limit 1)
  union all
  select (select d.webhook_id from webhook_delivery d where d.state = 'queued' and d.webhook_id > w.webhook_id
    order by d.webhook_id limit 1), w.n + 1
  from waiting w where w.webhook_id is not null and w.n < ${SUBSCRIPTIONS}),
late as (
  update webhook_delivery d set state = 'dead', body = null, ended_at = $2, message = coalesce(d.message, '${WAS_DISABLED}')
  where d.number = any (array(
    select l.number from waiting w join webhook h on h.id = w.webhook_id join webhook_delivery l on l.webhook_id = h.id
    where h.state = 'disabled' and l.state = 'queued' for no key update of l skip locked))),
running as (select webhook_id, count(*) as deliveries from webhook_delivery where state = 'running' group by webhook_id),
ready as (
  select h.id, coalesce(r.deliveries, 0) as running,
    case when h.failures > 0 then 1 else ${AT_ONCE} end - coalesce(r.deliveries, 0) as free
  from waiting w join webhook h on h.id = w.webhook_id left join running r on r.webhook_id = h.id
  where h.state = 'active' and (h.rest_until is null or h.rest_until <= $2)
    and coalesce('user ' || h.owner_id, 'administrators') <> all ($4::text[])),
seen as (
  select d.number, d.run_at, h.running + row_number() over (partition by h.id order by d.run_at, d.number) as turn
  from ready h cross join lateral (
    select number, run_at from webhook_delivery d
    where d.webhook_id = h.id and d.state = 'queued' and d.run_at <= $2
    order by d.run_at, d.number limit greatest(0, least(h.free, $3))) d),
chosen as (select number, turn from seen order by turn, run_at, number limit $3),
due as (
  select number from webhook_delivery where number = any (array(select number from chosen)) and state = 'queued'
  for no key update skip locked),
claimed as (
  update webhook_delivery d set state = 'running', holder = $1, lease_until = now() + $5 * interval '1 millisecond',
    attempt = d.attempt + 1
  where d.number = any (array(select number from due))
  returning d.number, d.webhook_id, d.message_id, d.kind, d.body, d.attempt, d.attempts, d.run_at)
select c.*, h.owner_id::text as owner, h.url, h.secret, h.failures,
  case when h.last_at > $2::timestamptz - $6 * interval '1 millisecond' then h.failing_since end as failing_since,
  case when h.previous_until > $2 then h.previous_secret end as previous
from claimed c join chosen using (number) join webhook h on h.id = c.webhook_id order by chosen.turn, c.run_at, c.number`;

interface ClaimRow {
  readonly number: number;
  readonly webhook_id: WebhookId;
  readonly message_id: string;
  readonly kind: string;
  readonly body: string;
  readonly attempt: number;
  readonly attempts: number;
  readonly run_at: Date;
  readonly owner: UserId | null;
  readonly url: string;
  readonly secret: WebhookSecret;
  readonly previous: WebhookSecret | null;
  readonly failures: number;
  readonly failing_since: Date | null;
}

export class PostgresWebhookQueue implements WebhookQueue {
  readonly #db: Postgres;
  readonly #instance: Pick<PostgresInstance, 'id' | 'connected' | 'listen'>;
  readonly #events: EventDeliveries;
  readonly #leaseMs: number;
  readonly #forgetMs: number;
  #wake: () => void = () => undefined;

  /**
   * @param leaseMs longer than a delivery may wait in memory and be sent; after that, it is sent again
   * @param forgetMs longer than the delays between the attempts of a delivery. If there was no attempt for so long, nothing
   *   waited, and the failures before do not count as a sign that the receiver is gone
   */
  constructor(
    db: Postgres,
    instance: Pick<PostgresInstance, 'id' | 'connected' | 'listen'>,
    {
      events,
      leaseMs,
      forgetMs,
    }: { readonly events: EventDeliveries; readonly leaseMs: number; readonly forgetMs: number },
  ) {
    this.#db = db;
    this.#instance = instance;
    this.#events = events;
    this.#leaseMs = leaseMs;
    this.#forgetMs = forgetMs;
  }

  async completeAndFetch(
    done: readonly WebhookCompletion[],
    { limit, withheld = [] }: WebhookClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly WebhookClaim[]> {
    // Without our session lock, others would consider the deliveries abandoned as soon as we claimed them.
    const claims = limit > 0 && this.#instance.connected;
    const fresh = claims ? await this.#events.read(now, signal) : undefined;
    const claimed = await this.#db.transaction(async (sql) => {
      await sql.query(LOCK);
      await this.#write(sql, done, now);
      if (!claims) return [];
      if (fresh) await this.#events.make(sql, fresh, now);
      await sql.query(FREE_LOST, [this.#instance.id]);
      const rows = await sql.query<ClaimRow>(CLAIM, [
        ...[this.#instance.id, now, limit, withheld, this.#leaseMs, this.#forgetMs],
      ]);
      return rows.map((row) => claimOf(row, now));
    }, signal);
    // More events are read at once, also if these concerned nobody and there is nothing to wait for.
    if (fresh?.more) this.#wake();
    return claimed;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return this.#instance.listen(WEBHOOK_CHANNEL, wake);
  }

  async #write(sql: Sql, done: readonly WebhookCompletion[], now: Date): Promise<void> {
    if (done.length === 0) return;
    await sql.query(LOCK_WEBHOOKS, [done.map(({ claim }) => claim.webhook)]);
    for (const { claim, outcome } of done) {
      const held = [claim.number, claim.attempt, this.#instance.id];
      if (outcome.kind === 'again') await sql.query(AGAIN, held);
      else if ((await sql.query(END, [...held, ...endOf(outcome)])).length > 0)
        await this.#note(sql, claim.webhook, outcome, now);
    }
  }

  async #note(sql: Sql, webhook: WebhookId, outcome: Ended, now: Date): Promise<void> {
    const [row] = await sql.query<{ state: WebhookState }>(...notesOf(webhook, outcome, this.#forgetMs));
    // Also when its owner has disabled it while the delivery ran.
    if (row?.state === 'disabled') await sql.query(END_WAITING, [webhook, now]);
  }
}

type Ended = Exclude<WebhookOutcome, { readonly kind: 'again' }>;

/** The values of {@link END} after those that name the attempt. */
function endOf(outcome: Ended): readonly unknown[] {
  switch (outcome.kind) {
    case 'delivered':
      return ['delivered', null, 0, outcome.at, outcome.status, null];
    case 'retry':
      return ['queued', outcome.due, 1, null, outcome.status ?? null, storableText(outcome.message)];
    case 'undelivered':
      return ['dead', null, 1, outcome.at, outcome.status ?? null, storableText(outcome.message)];
    default:
      return outcome satisfies never;
  }
}

function notesOf(
  webhook: WebhookId,
  outcome: Ended,
  forgetMs: number,
): [statement: string, values: readonly unknown[]] {
  if (outcome.kind === 'delivered') return [NOTE_DELIVERED, [webhook, outcome.at, outcome.status]];
  const { at, status, message, rest } = outcome;
  const disable = outcome.kind === 'undelivered' ? outcome.disable : undefined;
  const reason = disable === undefined ? null : storableText(disable);
  return [NOTE_FAILED, [webhook, at, status ?? null, storableText(message), rest, reason, forgetMs]];
}

const claimOf = (row: ClaimRow, now: Date): WebhookClaim => ({
  webhook: row.webhook_id,
  tenant: tenantOfWebhook(row.owner ?? undefined),
  url: row.url,
  secrets: row.previous === null ? [row.secret] : [row.secret, row.previous],
  number: row.number,
  kind: row.kind,
  message: { id: row.message_id, body: row.body },
  attempt: row.attempt,
  failed: row.attempts,
  failedInTurn: row.failures,
  failingSince: row.failing_since ?? undefined,
  waitedMs: now.getTime() - row.run_at.getTime(),
});
