// Who delivers the mails of the dataset access service: the mail server of the configuration, or, for `up`, files.

import type { AccessMailOptions } from '../../actors/daemons/access-mail.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { MailConfiguration } from '../../config/schema/root.ts';
import type { SmtpOptions } from '../../engine/adapters/mail/smtp.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { verification } from './verification.ts';

export type MailDelivery = Pick<AccessMailOptions, 'mailer' | 'from' | 'replyTo' | 'retry'> & {
  /** Whether health tells about it. */
  readonly isServer: boolean;
};

/** Of mails that are files. */
const LOCAL_SENDER = 'longshore@localhost';
const LOCAL_RETRY = { tries: 10, baseMs: 1_000, maxMs: 60_000 };

/** Of the section `mail`. */
export function smtpOptions(mail: MailConfiguration): SmtpOptions {
  const { server, security, tlsOptions, username, password, timeoutMs } = mail;
  return {
    ...{ host: server.host, port: server.port, security, timeoutMs },
    tls: verification(tlsOptions),
    login: username === undefined ? undefined : { user: username, pass: password ?? '' },
  };
}

/** Undefined when nobody delivers: mails wait. */
export async function mailDelivery(
  { mail, access }: Pick<Configuration, 'mail' | 'access'>,
  mailDir: string | undefined,
  scope: Scope,
): Promise<MailDelivery | undefined> {
  if (mail) {
    const { SmtpMailer } = await import('../../engine/adapters/mail/smtp.ts');
    const mailer = new SmtpMailer(smtpOptions(mail));
    const { from, retry, replyTo = access?.supportEmail } = mail;
    return { mailer: scope.use('mail server', mailer), from, replyTo, retry, isServer: true };
  }
  if (mailDir === undefined) return undefined;
  const { MailDirectory } = await import('../../engine/adapters/mail/mail-directory.ts');
  const mailer = new MailDirectory(mailDir);
  return { mailer, from: LOCAL_SENDER, replyTo: access?.supportEmail, retry: LOCAL_RETRY, isServer: false };
}
