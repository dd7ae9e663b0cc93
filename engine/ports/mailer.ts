// Hands mails over for delivery.

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
