// The outbox: mails to send, as rows. A claim moves the time of the next attempt past the end of this one, so another process
// retries the mail of a process that crashed.

import { EDIT_MAIL_BOUNDS, isEditMail, type MailDraft } from '../../model/access-mail.ts';
import type { CuratedId } from '../../model/access-request.ts';
import type { Outbox, QueuedMail } from '../../ports/mail.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';

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

/** The condition of mails that failed for good. Mails beyond the limits below were never attempted, and concern nobody. */
export const GIVEN_UP = 'dead and attempts > 0';

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
      `select count(*) filter (where not dead) as waiting, count(*) filter (where ${GIVEN_UP}) as dead from outbox`,
    );
    return { waiting: row?.waiting ?? 0, dead: row?.dead ?? 0 };
  }

  /** Makes the mails that failed for good due now, with all their attempts. Returns how many. */
  async retryDead(now: Date, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const rows = await this.#db.query(
      `update outbox set dead = false, attempts = 0, due = $1 where ${GIVEN_UP} returning mail_id`,
      [now],
    );
    return rows.length;
  }

  /** Removes the mails that failed for good. Returns how many. */
  async discardDead(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    return (await this.#db.query(`delete from outbox where ${GIVEN_UP} returning mail_id`)).length;
  }
}

function draftOf(stored: StoredDraft): MailDraft {
  if ('email' in stored) return stored;
  const request = { ...stored.request, startDate: new Date(stored.request.startDate) };
  return { ...stored, request } as MailDraft;
}

// Limits the mails that users cause by editing their own requests. Otherwise a user who edits all day would fill other people's
// mailboxes.
//   coalesced  if a mail about the same record is still queued, it is updated to the newest state
//   at once    the first mail about a record within an hour
//   delayed    the next mail about it is due an hour after the previous one
//   not sent   beyond the daily limits: stored as failed with the reason, one per record
// Decisions and invitations are caused by staff. Each of those is mailed.

type EditMail = Extract<MailDraft, { readonly request: object }>;

/** When a mail is sent, or why not. */
interface Slot {
  readonly about: string;
  readonly due: Date;
  /** The reason if it is not sent. */
  readonly refusal: string | undefined;
}

const DAY = "interval '24 hours'";

const TELL_NEWEST = `
update outbox set draft = $2::jsonb where about = $1 and attempts = 0 and not dead returning mail_id`;

const TELL_NEWEST_UNSENT = `
update outbox set draft = $2::jsonb, failure = $3 where about = $1 and attempts = 0 and dead returning mail_id`;

const NEXT_DUE = `
insert into mail_tally as t (kind, key, at, mails) values ('record', $1, $2, 1)
on conflict (kind, key) do update set mails = t.mails + 1, at = greatest(excluded.at, t.at + $3 * interval '1 millisecond')
returning at`;

const COUNT = `
insert into mail_tally as t (kind, key, at, mails) values ($1, $2, $3, 1)
on conflict (kind, key) do update set
  mails = case when t.at <= excluded.at - ${DAY} then 1 else t.mails + 1 end,
  at = case when t.at <= excluded.at - ${DAY} then excluded.at else t.at end
returning mails`;

const INSERT = 'insert into outbox (draft, due, about, dead, failure) values ($1::jsonb, $2, $3, $4, $5)';

/** Runs in the transaction of the edit, which has locked the request, so edits of one request are serialized. */
async function queueEditMail(sql: Sql, mail: EditMail, now: Date): Promise<void> {
  const about = JSON.stringify([mail.template, mail.datasetId, mail.request.userId]);
  const draft = JSON.stringify(mail);
  if ((await sql.query(TELL_NEWEST, [about, draft])).length > 0) return;
  const { due, refusal } = await slotFor(sql, mail, about, now);
  if (refusal !== undefined && (await sql.query(TELL_NEWEST_UNSENT, [about, draft, refusal])).length > 0) return;
  await sql.query(INSERT, [draft, due, about, refusal !== undefined, refusal ?? null]);
}

async function slotFor(sql: Sql, { datasetId, request }: EditMail, about: string, now: Date): Promise<Slot> {
  const [next] = await sql.query<{ at: Date }>(NEXT_DUE, [about, now, EDIT_MAIL_BOUNDS.periodMs]);
  const { perAuthor, perDataset, perService } = EDIT_MAIL_BOUNDS;
  let refusal: string | undefined;
  // Always in this order, so that two transactions cannot deadlock.
  for (const [kind, key, most, whose] of [
    ['author', request.userId, perAuthor, `edits of user ${request.userId}`],
    ['dataset', datasetId, perDataset, `edits of requests for dataset ${datasetId}`],
    ['service', '', perService, 'edits of requests'],
  ] as const) {
    const [tally] = await sql.query<{ mails: number }>(COUNT, [kind, key, now]);
    if (tally && tally.mails > most)
      refusal ??= `not sent: ${whose} have already caused ${most} mails in 24 hours, the maximum`;
    if (refusal !== undefined) break;
  }
  return { about, due: next?.at ?? now, refusal };
}
