// Mails about events of datasets: who wants them, and what is to be told. The caller passes the times.
//
// An event is collected for each user who wants its kind. The first one makes a mail due after two minutes; whatever comes until
// it is sent is told in it. The next mail to that user is due 15 minutes after it at the earliest.

import type { MailedKind, ToldEvent } from '../model/event-mail.ts';
import type { UserId } from '../model/ids.ts';

export interface EventMailWishes {
  /** Empty = the user wants no mails. */
  kinds(user: UserId, signal: AbortSignal): Promise<readonly MailedKind[]>;
  /** Concerns events from now on. Without kinds, what was to be told is dropped. */
  set(user: UserId, kinds: readonly MailedKind[], signal: AbortSignal): Promise<void>;
}

export interface DueEventMail {
  readonly user: UserId;
  /** Oldest first; the first of `total`. */
  readonly events: readonly ToldEvent[];
  readonly total: number;
  /** Identifies the last one of all. */
  readonly upTo: number;
  /** Attempts, including this one. */
  readonly attempts: number;
}

export interface EventMailOutbox {
  /** Collects new events. */
  collect(now: Date, signal: AbortSignal): Promise<void>;
  /** The mail that has been due longest; nobody else gets it until `until`, when it is due again. */
  claim(now: Date, until: Date, signal: AbortSignal): Promise<DueEventMail | undefined>;
  /** Its events were told, or are given up: `failure` says why. */
  done(
    mail: Pick<DueEventMail, 'user' | 'upTo'>,
    now: Date,
    failure: string | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** Schedules the next attempt. An attempt that does not count is subtracted again. */
  postpone(user: UserId, due: Date, counted: boolean, failure: string, signal: AbortSignal): Promise<void>;
  /** How many mails wait. */
  waiting(signal: AbortSignal): Promise<number>;
}
