import t from 'tap';
import { SmtpMailer, type SmtpOptions } from '../../../../engine/adapters/mail/smtp.ts';
import type { Mail } from '../../../../engine/ports/mail.ts';
import { LOCALHOST_CERT } from '../../../fixtures/certificate.ts';
import { freePort } from '../../../support/ports.ts';
import { smtpServer } from '../../../support/smtp-server.ts';

const never = new AbortController().signal;

const AWAY = { kind: 'transient', unreachable: true, message: /^mail server 127/ };

const MAIL: Mail = {
  messageId: '<key-1@site.example>',
  date: new Date('2026-01-02T03:04:05Z'),
  from: 'service@site.example',
  replyTo: 'support@site.example',
  to: ['a@lab.example', 'b@lab.example'],
  cc: ['c@lab.example'],
  subject: 'Grüße: approved',
  text: 'plain',
  html: '<p>html</p>',
};

const mailer = (t: Tap, port: number, more: Partial<SmtpOptions> = {}): SmtpMailer => {
  const made = new SmtpMailer({
    ...{ host: '127.0.0.1', port, security: 'none', tls: { rejectUnauthorized: true }, login: undefined },
    timeoutMs: 5_000,
    ...more,
  });
  t.teardown(() => made[Symbol.dispose]());
  return made;
};
type Tap = { teardown(fn: () => unknown): void };

t.test('a mail goes to all, copies included, with its own id and both forms of its text', async (t) => {
  const server = await smtpServer(t);
  const made = mailer(t, server.port);
  await made.send(MAIL, never);
  await made.send(MAIL, never);
  const [mail, again] = server.mails;
  t.match(mail, { from: MAIL.from, to: [...MAIL.to, ...MAIL.cc], encrypted: false });
  const [head = '', body = ''] = mail?.content.split('\r\n\r\n', 2) ?? [];
  for (const line of [
    'From: service@site.example',
    'Reply-To: support@site.example',
    'To: a@lab.example, b@lab.example',
    'Cc: c@lab.example',
    'Message-ID: <key-1@site.example>',
    'Date: Fri, 02 Jan 2026 03:04:05 +0000',
  ])
    t.ok(head.includes(`${line}\r\n`) || head.endsWith(line), line);
  t.match(head, /multipart\/alternative/);
  t.match(body + mail?.content, /plain/);
  t.match(mail?.content, /<p>html<\/p>/);
  t.match(again?.content, 'Message-ID: <key-1@site.example>', 'the same when repeated');
});

t.test('what the server says decides whether it is worth another try', async (t) => {
  const outcomes: readonly (readonly [command: string, answer: string, kind: string, unreachable: boolean])[] = [
    ['MAIL', '550 no such sender', 'rejected', false],
    ['MAIL', '451 later', 'transient', false],
    ['RCPT', '550 no such user', 'rejected', false],
    ['RCPT', '450 greylisted', 'transient', false],
    ['DATA', '554 no', 'rejected', false],
    ['.', '554 looks like spam', 'rejected', false],
    ['.', '452 full', 'transient', false],
    ['EHLO', '421 closing', 'transient', true],
  ];
  for (const [command, answer, kind, unreachable] of outcomes) {
    const server = await smtpServer(t);
    server.answers.set(command, answer);
    if (command === 'EHLO') server.answers.set('HELO', answer);
    await t.rejects(
      mailer(t, server.port).send(MAIL, never),
      { kind, unreachable, message: /^mail server 127/ },
      `${command} ${answer}`,
    );
  }
});

t.test('one refused recipient does not keep the others from it', async (t) => {
  const server = await smtpServer(t);
  server.answers.set('RCPT TO:<a@lab.example>', '550 gone');
  t.strictSame(await mailer(t, server.port).send(MAIL, never), ['a@lab.example'], 'and is told');
  t.match(server.mails, [{ to: ['b@lab.example', 'c@lab.example'] }]);
});

t.test('a server that is away, or refuses the login, is unreachable', async (t) => {
  const away = mailer(t, await freePort());
  await t.rejects(away.send(MAIL, never), AWAY);
  await t.rejects(away.probe(never), AWAY);
  const server = await smtpServer(t);
  await mailer(t, server.port).probe(never);
  server.answers.set('EHLO', '250-test\r\n250 AUTH PLAIN');
  server.answers.set('AUTH', '535 wrong password');
  const login = { user: 'u', pass: 'p' };
  await t.rejects(mailer(t, server.port, { login }).send(MAIL, never), AWAY);
});

t.test('starttls and tls encrypt, demand a certificate that is trusted, and never go on without', async (t) => {
  const tls = { rejectUnauthorized: true, ca: LOCALHOST_CERT };
  for (const security of ['starttls', 'tls'] as const) {
    const server = await smtpServer(t, security);
    await mailer(t, server.port, { security, tls }).send(MAIL, never);
    t.match(server.mails, [{ encrypted: true }], security);
    const stranger = mailer(t, server.port, { security });
    await t.rejects(stranger.send(MAIL, never), AWAY, `${security}: not trusted`);
    t.equal(server.mails.length, 1);
  }
  const plain = await smtpServer(t);
  const wants = mailer(t, plain.port, { security: 'starttls', tls });
  await t.rejects(wants.send(MAIL, never), AWAY, 'the server cannot');
  t.equal(plain.mails.length, 0);
});

t.test('a send that is aborted is given up', async (t) => {
  const server = await smtpServer(t);
  server.answers.set('DATA', '');
  const stop = new AbortController();
  const sending = mailer(t, server.port).send(MAIL, stop.signal);
  stop.abort(new Error('enough'));
  await t.rejects(sending);
});
