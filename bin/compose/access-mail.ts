// How mails are delivered, those of the dataset access service and those about events: by the configured mail server or, for
// `up`, as files.

import type { AccessMailOptions } from '../../actors/daemons/access-mail.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { MailConfiguration } from '../../config/schema/root.ts';
import type { SmtpOptions } from '../../engine/adapters/mail/smtp.ts';
import { RETRIES } from '../../engine/runtime/retry.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import { verification } from './verification.ts';

export type MailDelivery = Pick<AccessMailOptions, 'mailer' | 'from' | 'replyTo' | 'retry'> & {
  /** Whether /health reports it. */
  readonly isServer: boolean;
};

/** The sender of mails that are written as files. */
const LOCAL_SENDER = 'longshore@localhost';

/** Options from the section `mail`. */
export function smtpOptions(mail: MailConfiguration): SmtpOptions {
  const { server, security, tlsOptions, username, password, timeoutMs } = mail;
  return {
    ...{ host: server.host, port: server.port, security, timeoutMs },
    tls: verification(tlsOptions),
    login: username === undefined ? undefined : { user: username, pass: password ?? '' },
  };
}

/** Undefined when there is no way to deliver: mails wait. */
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
  return { mailer, from: LOCAL_SENDER, replyTo: access?.supportEmail, retry: RETRIES.localMail, isServer: false };
}
