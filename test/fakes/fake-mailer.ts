// Takes mails and keeps them.

import type { Mail, Mailer } from '../../engine/ports/mail.ts';
import { transient } from '../../engine/runtime/failure.ts';

export class FakeMailer implements Mailer {
  readonly taken: Mail[] = [];
  /** What the next sends fail with, one each. */
  readonly failures: Error[] = [];
  away = false;

  async send(mail: Mail, signal: AbortSignal): Promise<readonly string[]> {
    await this.probe(signal);
    const failure = this.failures.shift();
    if (failure) throw failure;
    this.taken.push(mail);
    return [];
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.away) throw transient('nobody takes mails', { unreachable: true });
  }
}
