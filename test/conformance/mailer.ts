// What every Mailer does.

import type { Test } from 'tap';
import type { Mail, Mailer } from '../../engine/ports/mail.ts';

/** A mail as its recipients get it. */
export interface DeliveredMail extends Pick<Mail, 'messageId' | 'from' | 'subject' | 'text' | 'html'> {
  /** Everybody who gets it, copies included. */
  readonly recipients: readonly string[];
}

export interface MailerWorld {
  readonly mailer: Mailer;
  /** In the order in which they were taken; whoever keeps one of each id may keep the last. */
  delivered(): Promise<readonly DeliveredMail[]>;
  /** From now on nobody takes mails, or somebody does again. */
  goAway(away: boolean): Promise<void>;
}

const AWAY = { kind: 'transient', unreachable: true, message: /./ };

export function mailerConformance(t: Test, setup: (t: Test) => Promise<MailerWorld>): void {
  const signal = new AbortController().signal;
  const mailOf = (key: string, more: Partial<Mail> = {}): Mail => ({
    ...{ messageId: `<${key}@site.example>`, date: new Date('2026-01-02T03:04:05Z'), from: 'service@site.example' },
    ...{ replyTo: undefined, to: ['a@lab.example', 'b@lab.example'], cc: ['c@lab.example'] },
    ...{ subject: 'Zoë: approved', text: 'plain\n.\nend\n', html: '<p>ünïcode</p>\n' },
    ...more,
  });
  const asDelivered = ({ messageId, from, to, cc, subject, text, html }: Mail): DeliveredMail => ({
    ...{ messageId, from, subject, text, html, recipients: [...to, ...cc] },
  });

  t.test('a mail reaches everybody it is for, whole', async (t) => {
    const { mailer, delivered } = await setup(t);
    const mails = [mailOf('one'), mailOf('two', { cc: [], replyTo: 'help@site.example' })];
    for (const mail of mails) t.strictSame(await mailer.send(mail, signal), [], 'nobody is left out');
    t.strictSame(await delivered(), mails.map(asDelivered));
  });

  t.test('a mail that is sent again is recognised by its id', async (t) => {
    const { mailer, delivered } = await setup(t);
    await mailer.send(mailOf('one'), signal);
    await mailer.send(mailOf('one'), signal);
    t.strictSame([...new Set((await delivered()).map(({ messageId }) => messageId))], ['<one@site.example>']);
  });

  t.test('nothing is taken by a probe, nor for whoever has given up', async (t) => {
    const { mailer, delivered } = await setup(t);
    await mailer.probe(signal);
    const reason = new Error('given up');
    await t.rejects(mailer.send(mailOf('one'), AbortSignal.abort(reason)), reason);
    await t.rejects(mailer.probe(AbortSignal.abort(reason)), reason);
    t.strictSame(await delivered(), []);
  });

  t.test('away is unreachable, for mails and probes, and passes', async (t) => {
    const { mailer, delivered, goAway } = await setup(t);
    await goAway(true);
    await t.rejects(mailer.probe(signal), AWAY);
    await t.rejects(mailer.send(mailOf('one'), signal), AWAY);
    await goAway(false);
    t.strictSame(await delivered(), []);
    await mailer.probe(signal);
    await mailer.send(mailOf('one'), signal);
    t.strictSame(await delivered(), [asDelivered(mailOf('one'))]);
  });
}
