// The outbox: mails to send, as rows. A claim moves the time of the next attempt past the end of this one, so another process
// retries the mail of a process that crashed.

import { isEditMail, type MailDraft } from '../../model/access-mail.ts';
import type { CuratedId } from '../../model/access-request.ts';
import type { Outbox, QueuedMail } from '../../ports/mail.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/storable-text.ts';
import { queueEditMail } from './bounded-mails.ts';

/** As stored in JSON, which has no dates. */
type StoredDraft =
  | Extract<MailDraft, { readonly email: string }>
  | { readonly template: string; readonly datasetId: CuratedId; readonly request: { readonly startDate: string } };

interface MailRow {
  readonly mail_id: number;
  readonly message_key: string;
  readonly draft: StoredDraft;
  readonly attempts: number;
}

/** Runs in the transaction of the change that the mails report. */
export async function queueMails(sql: Sql, mails: readonly MailDraft[], due: Date): Promise<void> {
  for (const mail of mails) if (isEditMail(mail)) await queueEditMail(sql, mail, due);
  const others = mails.filter((mail) => !isEditMail(mail));
  if (others.length === 0) return;
  await sql.query(
    'insert into outbox (draft, due) select d::jsonb, $2 from unnest($1::text[]) with ordinality u (d, n) order by n',
    [others.map((mail) => JSON.stringify(mail)), due],
  );
}

/**
 * Materialized, so that mails are chosen once. As a subselect they were chosen again for each row if the planner expected a
 * very small table. Each choice skipped the mails that the statement had claimed already, so it claimed more than the limit.
 */
const CLAIM = `
  with chosen as materialized (
    select mail_id from outbox where not dead and due <= $1 order by due, mail_id limit $3 for update skip locked)
  update outbox o set due = $2, attempts = attempts + 1 from chosen c where o.mail_id = c.mail_id
  returning o.mail_id, o.message_key, o.draft, o.attempts`;

export class PostgresOutbox implements Outbox {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async claim(now: Date, until: Date, limit: number, signal: AbortSignal): Promise<readonly QueuedMail[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<MailRow>(CLAIM, [now, until, limit]);
    return rows
      .map((row) => ({
        id: row.mail_id,
        messageKey: row.message_key,
        draft: draftOf(row.draft),
        attempts: row.attempts,
      }))
      .sort((a, b) => a.id - b.id);
  }

  async sent(id: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query('delete from outbox where mail_id = $1', [id]);
  }

  async postpone(id: number, due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(
      `update outbox set due = $2, failure = $3, attempts = case when $4 then attempts else greatest(attempts - 1, 0) end
       where mail_id = $1`,
      [id, due, storableText(failure), counted],
    );
  }

  async bury(id: number, failure: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query('update outbox set dead = true, failure = $2 where mail_id = $1', [id, storableText(failure)]);
  }

  async counts(signal: AbortSignal): Promise<{ readonly waiting: number; readonly dead: number }> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ waiting: number; dead: number }>(
      'select count(*) filter (where not dead) as waiting, count(*) filter (where dead) as dead from outbox',
    );
    return { waiting: row?.waiting ?? 0, dead: row?.dead ?? 0 };
  }
}

function draftOf(stored: StoredDraft): MailDraft {
  if ('email' in stored) return stored;
  const request = { ...stored.request, startDate: new Date(stored.request.startDate) };
  return { ...stored, request } as MailDraft;
}
