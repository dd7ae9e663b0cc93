// Mails to owners whose webhooks were disabled by the service. What disables a webhook makes its mail due, in the same statement
// (webhook-queue-postgres.ts, event-deliveries.ts).

import type { DueWebhookNotice, WebhookNotices } from '../../ports/webhooks.ts';
import type { Postgres } from '../postgres/postgres.ts';

const CLAIM = `
with chosen as materialized (
  select id from webhook where mail_due <= $1 order by mail_due, id limit 1 for update skip locked)
update webhook w set mail_due = $2, mail_attempts = mail_attempts + 1 from chosen c where w.id = c.id
returning w.id as webhook, w.owner_id::text as owner, w.url, coalesce(w.reason, '') as reason, w.since,
  w.mail_attempts as attempts`;

const DONE = 'update webhook set mail_due = null, mail_attempts = 0 where id = $1 and since = $2::bigint';

/** Nothing is left to tell about one that was activated meanwhile. */
const POSTPONE = `
update webhook set mail_due = $2, mail_attempts = case when $3 then mail_attempts else greatest(mail_attempts - 1, 0) end
where id = $1 and since = $4::bigint and mail_due is not null`;

export class PostgresWebhookNotices implements WebhookNotices {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async claim(now: Date, until: Date, signal: AbortSignal): Promise<DueWebhookNotice | undefined> {
    signal.throwIfAborted();
    return (await this.#db.query<DueWebhookNotice>(CLAIM, [now, until]))[0];
  }

  done: WebhookNotices['done'] = async ({ webhook, since }, signal) => {
    signal.throwIfAborted();
    await this.#db.query(DONE, [webhook, since]);
  };

  postpone: WebhookNotices['postpone'] = async ({ webhook, since }, due, counted, signal) => {
    signal.throwIfAborted();
    await this.#db.query(POSTPONE, [webhook, due, counted, since]);
  };
}
