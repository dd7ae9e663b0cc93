import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { listMails, MailDirectory } from '../../../../engine/adapters/mail/mail-directory.ts';
import type { Mail } from '../../../../engine/ports/mail.ts';

const never = new AbortController().signal;
const mail = (key: string, date: string): Mail => ({
  messageId: `<${key}@site.example>`,
  date: new Date(date),
  from: 'service@site.example',
  replyTo: undefined,
  to: ['a@lab.example'],
  cc: [],
  subject: `About ${key}`,
  text: 'plain',
  html: '<p>html</p>',
});

t.test('mails are files that only their owner reads, listed oldest first; a repeated one is there once', async (t) => {
  const dir = join(t.testdir(), 'mail');
  t.strictSame(await listMails(dir), [], 'none where there is no directory');
  const mailer = new MailDirectory(dir);
  await mailer.send(mail('b', '2026-01-01T00:00:00Z'), never);
  await mailer.send(mail('a', '2026-01-02T00:00:00Z'), never);
  await mailer.send(mail('b', '2026-01-03T00:00:00Z'), never);
  t.strictSame((await readdir(dir)).sort(), ['a.eml', 'a.json', 'b.eml', 'b.json']);
  const listed = await listMails(dir);
  t.strictSame(
    listed.map(({ messageId, date }) => `${messageId} ${date}`),
    ['<a@site.example> 2026-01-02T00:00:00.000Z', '<b@site.example> 2026-01-03T00:00:00.000Z'],
  );
  t.match(listed[0], { to: ['a@lab.example'], subject: 'About a', text: 'plain', file: join(dir, 'a.eml') });
  t.match(await readFile(join(dir, 'a.eml'), 'utf8'), /Message-ID: <a@site\.example>/);
  t.equal((await stat(join(dir, 'a.eml'))).mode & 0o077, 0);
});

t.test('an answer to a mail goes to its reply address, or else to its sender', async (t) => {
  const dir = join(t.testdir(), 'mail');
  const mailer = new MailDirectory(dir);
  await mailer.send(mail('plain', '2026-01-01T00:00:00Z'), never);
  await mailer.send({ ...mail('reply', '2026-01-01T00:00:00Z'), replyTo: 'help@site.example' }, never);
  t.notMatch(await readFile(join(dir, 'plain.eml'), 'utf8'), /^Reply-To:/m);
  t.match(await readFile(join(dir, 'reply.eml'), 'utf8'), /^Reply-To: help@site\.example$/m);
});
