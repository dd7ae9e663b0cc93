// Invitations for people without an account.

import { addressKey } from '../../model/access-mail.ts';
import type { CuratedId, SettledTerms } from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { AccessInvitations, Cause, Invitation } from '../../ports/access-people.ts';
import { defect } from '../../runtime/failure.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { sealCause, setCause } from './causing.ts';
import { queueMails } from './outbox.ts';
import { insertProvider } from './providers.ts';
import { insertRequest } from './request-row.ts';

type Content = { readonly isManager: boolean } | { readonly terms: StoredTerms };
/** As stored in JSON. */
type StoredTerms = Omit<SettledTerms, 'startDate' | 'dateDenied' | 'requestedAt'> & {
  readonly startDate: string;
  readonly dateDenied?: string;
  readonly requestedAt: string;
};

interface InvitationRow {
  readonly dataset_id: CuratedId;
  readonly content: Content;
  readonly cause_user: Cause['user'];
}

/**
 * How long "no invitation" is cached per address. The lookup happens at every call, and takes as long as the rest of a small
 * one. An invitation made through this object is found at once, one of another process after this time.
 */
const REMEMBERED_MS = 1_000;
const MAX_REMEMBERED = 10_000;

export class PostgresAccessInvitations implements AccessInvitations {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  /** Addresses without invitations, with the time of their lookup; oldest first. */
  readonly #uninvited = new Map<string, number>();
  /** Counts the invitations that were made or attempted here. */
  #invited = 0;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async invite(invitation: Invitation, cause: Cause, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#invite(invitation, cause, signal);
    } finally {
      // A concurrent lookup may not have seen the invitation.
      this.#invited++;
      this.#uninvited.delete(demandKey(invitation.email));
    }
  }

  #invite(invitation: Invitation, cause: Cause, signal: AbortSignal): Promise<boolean> {
    const { user, at } = cause;
    const { datasetId, kind } = invitation;
    const email = demandKey(invitation.email);
    const content = kind === 'provider' ? { isManager: invitation.isManager } : { terms: invitation.terms };
    return this.#db.transaction(async (sql) => {
      const [free] = await sql.query(
        `insert into invited_address as a (email, last_mail) values ($1, $2)
         on conflict (email) do update set last_mail = excluded.last_mail
           where a.last_mail <= excluded.last_mail - interval '24 hours'
         returning email`,
        [email, at],
      );
      if (!free) return false;
      await sql.query(
        `insert into invitation (email, kind, dataset_id, content, cause_user) values ($1, $2, $3, $4, $5::numeric)
         on conflict (email, kind, dataset_id)
           do update set content = excluded.content, cause_user = excluded.cause_user`,
        [email, kind, datasetId, JSON.stringify(content), user],
      );
      await queueMails(sql, [{ template: `${kind}-register`, datasetId, email: invitation.email }], at);
      await sealCause(sql, cause, true);
      return true;
    }, signal);
  }

  async redeem(email: string, user: UserId, at: Date, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const address = addressKey(email);
    if (address === undefined) return 0;
    const age = at.getTime() - (this.#uninvited.get(address) ?? Number.NEGATIVE_INFINITY);
    if (age >= 0 && age < REMEMBERED_MS) return 0;
    const invitedBefore = this.#invited;
    const waiting = await this.#db.query<{ invitation_id: number }>(
      'select invitation_id from invitation where email = $1 order by invitation_id',
      [address],
      'invited',
    );
    if (waiting.length === 0 && this.#invited === invitedBefore) this.#remember(address, at.getTime());
    let made = 0;
    for (const { invitation_id: id } of waiting) if (await this.#redeemOne(id, user, at, signal)) made++;
    return made;
  }

  #remember(address: string, nowMs: number): void {
    this.#uninvited.delete(address);
    const oldest = this.#uninvited.keys().next();
    if (this.#uninvited.size >= MAX_REMEMBERED && !oldest.done) this.#uninvited.delete(oldest.value);
    this.#uninvited.set(address, nowMs);
  }

  /** Each by itself: a transaction writes one person's row, as the counts demand (migrations/access/0002-counts.sql). */
  #redeemOne(id: number, user: UserId, at: Date, signal: AbortSignal): Promise<boolean> {
    return this.#db.transaction(async (sql) => {
      // Another call of the same person may have redeemed it.
      const [row] = await sql.query<InvitationRow>(
        'delete from invitation where invitation_id = $1 returning dataset_id, content, cause_user::text as cause_user',
        [id],
      );
      if (row) await enter(sql, row, user, at);
      return row !== undefined;
    }, signal);
  }
}

function demandKey(email: string): string {
  const key = addressKey(email);
  if (key === undefined) throw defect(`${email} is not a valid email address`);
  return key;
}

async function enter(sql: Sql, row: InvitationRow, userId: UserId, at: Date): Promise<void> {
  const { dataset_id: datasetId, content, cause_user: by } = row;
  await setCause(sql, { user: by, at });
  if ('terms' in content) await insertRequest(sql, { userId, datasetId }, termsOf(content.terms));
  else await insertProvider(sql, { userId, datasetId, isManager: content.isManager });
}

const termsOf = (stored: StoredTerms): SettledTerms => ({
  ...stored,
  startDate: new Date(stored.startDate),
  dateDenied: stored.dateDenied === undefined ? undefined : new Date(stored.dateDenied),
  requestedAt: new Date(stored.requestedAt),
});
