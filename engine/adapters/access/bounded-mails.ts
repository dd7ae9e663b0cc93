// Limits the mails that users cause by editing their own requests. Otherwise a user who edits all day would fill other people's
// mailboxes.
//   coalesced  if a mail about the same record is still queued, it is updated to the newest state
//   at once    the first mail about a record within an hour
//   delayed    the next mail about it is due an hour after the previous one
//   not sent   beyond the daily limits: stored as failed with the reason, one per record
// Decisions and invitations are caused by staff. Each of those is mailed.

import { EDIT_MAIL_BOUNDS, type MailDraft } from '../../model/access-mail.ts';
import type { Sql } from '../postgres/postgres.ts';

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
export async function queueEditMail(sql: Sql, mail: EditMail, now: Date): Promise<void> {
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
