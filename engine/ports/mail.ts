// Mails. The outbox stores a mail in the transaction of the change that it reports. A daemon claims it later and hands it to
// the mailer.

import type { MailDraft } from '../model/access-mail.ts';

export interface Mail {
  /** With angle brackets; the same for each attempt to send the mail. */
  readonly messageId: string;
  readonly date: Date;
  readonly from: string;
  /** Undefined = the sender. */
  readonly replyTo: string | undefined;
  /** At least one. */
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface Mailer {
  /**
   * Resolves when at least one recipient was accepted; returns the recipients that were not. `rejected` when this mail will
   * never be accepted, `transient` when it may be accepted later, unreachable when no mail is accepted now.
   */
  send(mail: Mail, signal: AbortSignal): Promise<readonly string[]>;
  probe(signal: AbortSignal): Promise<void>;
}

export interface QueuedMail {
  readonly id: number;
  /** The same for each attempt. */
  readonly messageKey: string;
  readonly draft: MailDraft;
  /** Attempts, including this one. */
  readonly attempts: number;
}

export interface Outbox {
  /** Mails that are due, oldest first; nobody else gets them until `until`, when they are due again. */
  claim(now: Date, until: Date, limit: number, signal: AbortSignal): Promise<readonly QueuedMail[]>;
  sent(id: number, signal: AbortSignal): Promise<void>;
  /** Schedules the next attempt at `due`. An attempt that does not count is subtracted again. */
  postpone(id: number, due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void>;
  /** Gives the mail up. */
  bury(id: number, failure: string, signal: AbortSignal): Promise<void>;
  counts(signal: AbortSignal): Promise<{ readonly waiting: number; readonly dead: number }>;
}
