// Hands mails to whoever delivers them.

export interface Mail {
  /** With angle brackets; the same when it is sent again. */
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
   * Resolves when the mail was taken for at least one recipient, with those for whom it was not. `rejected` when this mail never will be, `transient`
   * when it may be later, unreachable when no mail is taken just now.
   */
  send(mail: Mail, signal: AbortSignal): Promise<readonly string[]>;
  probe(signal: AbortSignal): Promise<void>;
}
