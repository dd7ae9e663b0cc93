// The mail server: greeted, encrypted, logged in to. No mail is sent.

import type { MailConfiguration } from '../../config/schema/mail.ts';
import { SmtpMailer, type SmtpOptions } from '../../engine/adapters/smtp.ts';
import { type Check, hostPort } from './check.ts';
import { codeOf, networkMend } from './error-codes.ts';

export const mailCheck = (section: MailConfiguration, options: SmtpOptions): Check => ({
  name: 'mail server',
  where: hostPort(section.server),
  tried: section.username === undefined ? 'greeted it' : 'greeted it, logged in',
  async look(signal) {
    using mailer = new SmtpMailer(options);
    await mailer.probe(signal);
    return { problems: [] };
  },
  explain(error) {
    if (codeOf(error) === 'EAUTH')
      return 'correct mail.username and password; some providers want a password made for programs';
    // The client's own word for whatever a socket said comes first; what the socket said stands in its text.
    return (
      networkMend(error, {
        server: 'the mail server',
        key: 'mail.server',
        tls: { switch: 'mail.security', options: 'mail.tlsOptions' },
      }) ??
      'check mail.server (host and port), mail.security (starttls, tls or none) and mail.tlsOptions.caFile; firewalls often close port 25'
    );
  },
});
