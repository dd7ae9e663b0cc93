// Checks the mail server: greeting, encryption, login. Sends no mail.

import type { MailConfiguration } from '../../../config/schema/root.ts';
import { SmtpMailer, type SmtpOptions } from '../../../engine/adapters/mail/smtp.ts';
import { type Check, hostPort } from './check.ts';
import { codeOf, networkFix } from './error-codes.ts';

const PATIENCE_MS = 8_000;
const TLS = { switch: 'mail.security', options: 'mail.tlsOptions' } as const;

export const mailCheck = (section: MailConfiguration, options: SmtpOptions): Check => ({
  name: 'mail server',
  where: hostPort(section.server),
  tried: section.username === undefined ? 'read its greeting' : 'read its greeting, logged in',
  async look(signal) {
    // The mail client ignores signals, so its timeout must be shorter than the check's.
    using mailer = new SmtpMailer({ ...options, timeoutMs: Math.min(options.timeoutMs, PATIENCE_MS) });
    await mailer.probe(signal);
    return { problems: [] };
  },
  explain,
});

function explain(error: unknown): string {
  switch (codeOf(error)) {
    case 'ETIMEDOUT':
      return 'it is slow, hangs, or a firewall drops packets; a server with implicit TLS (mail.security tls) sends no greeting to an unencrypted connection';
    case 'EAUTH':
      return 'correct mail.username and password; some providers require an app password';
    // The client's codes for all failures of certificates and of starting TLS.
    case 'ESOCKET':
    case 'ETLS':
      return `if its certificate is not trusted, put the PEM file of its authority into ${TLS.options}.caFile; if it uses another encryption mode, correct ${TLS.switch} (starttls, tls or none)`;
    default:
      return (
        networkFix(error, { server: 'the mail server', key: 'mail.server', tls: TLS }) ??
        'check mail.server (host and port) and mail.security; firewalls often close port 25'
      );
  }
}
