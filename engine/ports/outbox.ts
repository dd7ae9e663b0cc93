// Mails to be sent: written in the transaction of the change that they tell of, sent later.

import type { MailDraft } from '../model/access-mail.ts';

export interface QueuedMail {
  readonly id: number;
  /** The same each time that the mail is tried. */
  readonly messageKey: string;
  readonly draft: MailDraft;
  /** Tries, this one included. */
  readonly tries: number;
}

export interface Outbox {
  /** Mails that are due, oldest first; nobody else gets them until `until`, when they are due again. */
  claim(now: Date, until: Date, limit: number, signal: AbortSignal): Promise<readonly QueuedMail[]>;
  sent(id: number, signal: AbortSignal): Promise<void>;
  /** Tried again at `due`; a try that was not counted is given back. */
  postpone(id: number, due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void>;
  /** Given up. */
  bury(id: number, failure: string, signal: AbortSignal): Promise<void>;
  counts(signal: AbortSignal): Promise<{ readonly waiting: number; readonly dead: number }>;
}
