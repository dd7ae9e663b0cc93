import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { listMails, MailDirectory } from '../../../../engine/adapters/mail/mail-directory.ts';
import { SmtpMailer } from '../../../../engine/adapters/mail/smtp.ts';
import { type DeliveredMail, mailerConformance } from '../../../conformance/mailer.ts';
import { FakeMailer } from '../../../fakes/fake-mailer.ts';
import { readMail } from '../../../support/read-mail.ts';
import { smtpServer } from '../../../support/smtp-server.ts';

/** @param content as SMTP carries it */
function deliveredBy(content: string, recipients: readonly string[]): DeliveredMail {
  const { head, parts } = readMail(content);
  return {
    ...{ messageId: head('message-id') ?? '', from: head('from') ?? '', subject: head('subject') ?? '', recipients },
    ...{ text: parts.get('text/plain') ?? '', html: parts.get('text/html') ?? '' },
  };
}

t.test('SMTP', async (t) => {
  mailerConformance(t, async (t) => {
    const server = await smtpServer(t);
    const mailer = new SmtpMailer({
      ...{
        host: '127.0.0.1',
        port: server.port,
        security: 'none',
        tls: { rejectUnauthorized: true },
        login: undefined,
      },
      timeoutMs: 5_000,
    });
    t.teardown(() => mailer[Symbol.dispose]());
    return {
      mailer,
      delivered: async () => server.mails.map(({ content, to }) => deliveredBy(content, to)),
      goAway: async (away) => {
        server.away = away;
      },
    };
  });
});

t.test('directory', async (t) => {
  mailerConformance(t, async (t) => {
    const dir = join(t.testdir(), 'mail');
    const mailer = new MailDirectory(dir);
    return {
      mailer,
      delivered: async () => {
        const listed = await listMails(dir);
        const read = async ({ file, to, cc }: (typeof listed)[number]): Promise<DeliveredMail> =>
          deliveredBy((await readFile(file, 'latin1')).replaceAll('\n', '\r\n'), [...to, ...cc]);
        return Promise.all(listed.map(read));
      },
      // A file stands where the directory should be.
      goAway: async (away) => (away ? writeFile(dir, '') : rename(dir, `${dir}.old`)),
    };
  });
});

t.test('fake', async (t) => {
  mailerConformance(t, async () => {
    const mailer = new FakeMailer();
    return {
      mailer,
      delivered: async () =>
        mailer.taken.map(({ messageId, from, subject, text, html, to, cc }) => ({
          ...{ messageId, from, subject, text, html, recipients: [...to, ...cc] },
        })),
      goAway: async (away) => {
        mailer.away = away;
      },
    };
  });
});
