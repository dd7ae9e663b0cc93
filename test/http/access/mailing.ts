// The daemon of the mails, over SMTP to a mail server of the test, for one application.

import { type AccessMailOptions, accessMailMetrics } from '../../../actors/daemons/access-mail.ts';
import { PostgresOutbox } from '../../../engine/adapters/access/outbox.ts';
import { PostgresAccessProviders } from '../../../engine/adapters/access/providers.ts';
import { PostgresAccounts } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import { SmtpMailer } from '../../../engine/adapters/mail/smtp.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import type { App } from './access-app.ts';

export const HELP = 'help@site.example';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export function mailing(t: Teardown, app: App, server: { readonly port: number }): AccessMailOptions {
  const mailer = new SmtpMailer({
    ...{ host: '127.0.0.1', port: server.port, security: 'none', tls: { rejectUnauthorized: true }, login: undefined },
    timeoutMs: 5_000,
  });
  t.teardown(() => mailer[Symbol.dispose]());
  const metrics = new Metrics();
  return {
    ...{ mailer, metrics, outbox: new PostgresOutbox(app.db), accounts: new PostgresAccounts(app.cache) },
    ...{ catalogue: app.catalogue, providers: new PostgresAccessProviders(app.db) },
    site: { siteUrl: 'https://site.example', registrationPath: '/r', applicationPath: '/a', supportEmail: HELP },
    ...{ from: 'service@site.example', replyTo: HELP, retry: { attempts: 3, baseMs: 1_000, maxMs: 10_000 } },
    ...{ counts: accessMailMetrics(metrics), clock: app.clock, log: silentLogger(), random: () => 0 },
  };
}
