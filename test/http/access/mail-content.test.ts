// What people write, sent by SMTP: it stays where it belongs, and is text and nothing else.

import t from 'tap';
import { type AccessMailOptions, accessMailMetrics, sendDue } from '../../../actors/daemons/access-mail.ts';
import { PostgresOutbox } from '../../../engine/adapters/access/outbox.ts';
import { PostgresAccessProviders } from '../../../engine/adapters/access/providers.ts';
import { PostgresAccounts } from '../../../engine/adapters/accounts-postgres.ts';
import { SmtpMailer } from '../../../engine/adapters/smtp.ts';
import { silentLogger } from '../../../engine/log.ts';
import { Metrics } from '../../../engine/metrics.ts';
import { parseUserId } from '../../../engine/model/ids.ts';
import { type ReadMail, readMail } from '../../support/read-mail.ts';
import { smtpServer } from '../../support/smtp-server.ts';
import { accessApp, dataset, enters, LEVELS, never, replace } from './access-app.ts';

const HOSTILE: Readonly<Record<string, string>> = {
  markup: `<script>alert("1")</script><img src=x onerror='alert(1)'></td></table>&amp;&lt;b&gt;`,
  comment: '<!-- --><![CDATA[ x ]]></p></body></html>',
  head: 'x\r\nBcc: evil@evil.example\r\nSubject: other\r\n\r\nanother body',
  bare: 'x\nBcc: evil@evil.example\rTo: evil@evil.example',
  smtp: 'x\r\n.\r\nMAIL FROM:<evil@evil.example>\r\nRCPT TO:<evil@evil.example>\r\nDATA\r\nSubject: y\r\n\r\nz\r\n.\r\nQUIT',
  dots: '.\r\n..\r\n.',
  markers: '{{lead}} {{{own}}} {{&support}} {{#rows}}{{label}}{{/rows}} {{>part}} {{=<% %>=}} <% lead %> {{',
  filling: "$$DATASET_ID$$ $$DAYS_FOR_APPROVAL$$ $& $1 $` $'",
  encoded: '=?utf-8?B?PHNjcmlwdD4=?= =3Cscript=3E =\r\n&#60;script&#62; %3Cscript%3E',
  boundary: '\r\n--b\r\nContent-Type: text/html\r\n\r\n<script>1</script>\r\n--b--\r\n',
  unicode: 'Zoë \u202Eevil\u202C 漢字 \u{1F9EC} \u0085Bcc: evil@evil.example\u2028<b>\u2029</b>',
  long: `${'a'.repeat(3_000)}<b>${'é'.repeat(3_000)}`,
};

const TEXT_FIELDS = ['purpose', 'researchQuestion', 'analysisPlan', 'disseminationPlan', 'priorAuth'] as const;
const HEADS = ['From', 'To', 'Cc', 'Reply-To', 'Subject', 'Message-ID', 'Date', 'MIME-Version', 'Content-Type'];
const HELP = 'help@site.example';

async function setup(t: Parameters<typeof accessApp>[0]) {
  const app = await accessApp(t);
  const server = await smtpServer(t);
  const mailer = new SmtpMailer({
    ...{ host: '127.0.0.1', port: server.port, security: 'none', tls: { rejectUnauthorized: true }, login: undefined },
    timeoutMs: 5_000,
  });
  t.teardown(() => mailer[Symbol.dispose]());
  const accounts = new PostgresAccounts(app.cache);
  const metrics = new Metrics();
  const options: AccessMailOptions = {
    ...{ mailer, accounts, metrics, outbox: new PostgresOutbox(app.db), catalogue: app.catalogue },
    providers: new PostgresAccessProviders(app.db),
    site: { siteUrl: 'https://site.example', registrationPath: '/r', applicationPath: '/a', supportEmail: HELP },
    ...{ from: 'service@site.example', replyTo: HELP, retry: { tries: 1, baseMs: 1, maxMs: 1 } },
    ...{ counts: accessMailMetrics(metrics), clock: app.clock, log: silentLogger(), random: () => 0 },
  };
  const userId = parseUserId('40');
  if (!userId) throw new Error('no id');
  for (const user of ['1', '2', '40']) await app.call(user, 'GET', '/permissions');
  await enters(app, 40, 'private', {});
  const patch = async (who: string, ...items: object[]): Promise<number> =>
    (await app.call(who, 'PATCH', '/dataset-end-users/40-private', items)).status;
  /** The mails that are due, as they came. */
  const sent = async (): Promise<readonly { readonly envelope: readonly string[]; readonly mail: ReadMail }[]> => {
    const before = server.mails.length;
    await sendDue(options, never);
    return server.mails.slice(before).map(({ to, content }) => ({ envelope: to, mail: readMail(content) }));
  };
  const is = (profile: { firstName: string; lastName: string; email: string; affiliation: string }): Promise<void> =>
    accounts.remember({ userId, ...profile }, never);
  return { app, patch, sent, is };
}

const lines = (text: string): string => text.replaceAll(/\r\n|\r|\n/g, '\n');

/** Of the templates; every `<` of a mail begins one of them. */
const TAGS = new Set([
  ...['<!doctype html>', '<html>', '<body>', '<p>', '</p>', '<p style="white-space: pre-wrap">', '<table>', '</table>'],
  ...['<tr>', '</tr>', '<th style="text-align: left; vertical-align: top">', '</th>', '</body>', '</html>'],
  ...['<td style="white-space: pre-wrap">', '</td>', '<a href="https:&#x2F;&#x2F;site.example&#x2F;a">', '</a>'],
]);

const ENTITIES: Readonly<Record<string, string>> = {
  ...{
    '&amp;': '&',
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&#x2F;': '/',
    '&#x60;': '`',
    '&#x3D;': '=',
  },
};
const unescaped = (html: string): string => html.replaceAll(/&[#\w]+;/g, (entity) => ENTITIES[entity] ?? entity);

/** Label and value of each row of the table, as a reader sees them. */
const rowsOf = (html: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...html.matchAll(/<tr><th[^>]*>(.*?)<\/th><td[^>]*>(.*?)<\/td><\/tr>/gs)].map(([, label = '', value = '']) => [
      unescaped(label),
      unescaped(value),
    ]),
  );

t.test(
  'whatever people write is escaped in HTML, stands as it is in text, and leaves the heads as they are',
  async (t) => {
    const { app, patch, sent, is } = await setup(t);
    await app.catalogue.put([dataset('private', 'private', { priorAuthLabel: 'Agreement' })], never);
    for (const [kind, hostile] of Object.entries(HOSTILE)) {
      const said = (field: string): string => `${field} ${hostile} ${field}`;
      const own = TEXT_FIELDS.map((field) => replace(`/${field}`, said(field)));
      t.equal(await patch('40', ...own), 204, kind);
      t.equal(await patch('2', replace('/approvalStatus', 'approved')), 204);
      t.equal(await patch('2', replace('/approvalStatus', 'denied'), replace('/denialReason', said('reason'))), 204);
      // After the calls: each of them says who the person is.
      const profile = { firstName: said('first'), lastName: said('last'), affiliation: said('lab') };
      await is({ ...profile, email: 'uwe@lab.example' });
      const name = `${said('first')} ${said('last')}`;
      const rows: Record<string, string> = {
        ...{ 'Date of request': '2026-01-01', Name: name, Email: 'uwe@lab.example', Organization: said('lab') },
        ...{ Purpose: said('purpose'), Agreement: said('priorAuth'), 'Research questions': said('researchQuestion') },
        ...{ 'Analysis plan': said('analysisPlan'), 'Dissemination plan': said('disseminationPlan') },
      };
      const mails = await sent();
      const [person, manager] = ['uwe@lab.example', 'u2@site.example'];
      t.strictSame(
        mails.map(({ envelope, mail }) => [envelope, mail.head('to'), mail.head('cc'), mail.head('subject')]),
        [
          [[manager, HELP], `${manager}, ${HELP}`, undefined, 'Study private: Access Request Update'],
          [[person, HELP], `${person}, ${HELP}`, undefined, 'Study private: Access Request Update'],
          [[person, HELP, manager], `${person}, ${HELP}`, manager, 'Study private: Access Request Approved'],
          [[person, HELP, manager], `${person}, ${HELP}`, manager, 'Study private: Access Request Denied'],
        ],
        `${kind}: these mails, to these people`,
      );
      for (const [i, { mail }] of mails.entries()) {
        const about = `${kind}, mail ${i}`;
        const names = HEADS.filter((head) => i > 1 || head !== 'Cc');
        t.strictSame(
          mail.heads.map(([head]) => head),
          names,
          `${about}: no other heads`,
        );
        t.strictSame([...mail.parts.keys()], ['text/plain', 'text/html'], about);
        const html = mail.parts.get('text/html') ?? '';
        const tags = html.match(/<[^>]*>?/g) ?? [];
        t.strictSame(
          tags.filter((tag) => !TAGS.has(tag)),
          [],
          `${about}: no other tags`,
        );
        const expected = i === 3 ? { Reason: said('reason'), ...rows } : rows;
        const shown = Object.entries(expected).map(([label, value]) => [label, lines(value)]);
        t.strictSame(rowsOf(html), Object.fromEntries(shown), `${about}: the table`);
        const text = mail.parts.get('text/plain') ?? '';
        for (const [label, value] of shown) t.ok(text.includes(`\n${label}: ${value}\n`), `${about}: ${label} in text`);
      }
      t.equal(await patch('2', replace('/approvalStatus', 'requested')), 204);
    }
  },
);

t.test('an account whose address is not one address is not written to', async (t) => {
  const { patch, sent, is } = await setup(t);
  const profile = { firstName: 'Uwe', lastName: 'Doe', affiliation: 'Lab' };
  for (const email of [
    'uwe@lab.example, evil@evil.example',
    'uwe@lab.example;evil@evil.example',
    'uwe@lab.example\r\nBcc: evil@evil.example',
    'group: uwe@lab.example, evil@evil.example;',
    'Uwe <evil@evil.example>',
    '"uwe@lab.example" <evil@evil.example>',
    'evil@evil.example>\r\nRCPT TO:<evil@evil.example',
    'uwe@lab.example (evil@evil.example)',
    'uwe\u2028evil@evil.example',
    'uwe',
    '@lab.example',
    ' ',
  ]) {
    await is({ ...profile, email });
    await patch('2', replace('/approvalStatus', 'approved'));
    await patch('2', replace('/approvalStatus', 'denied'));
    await patch('2', replace('/approvalStatus', 'requested'));
    const mails = await sent();
    t.strictSame(
      mails.map(({ envelope, mail }) => [envelope, mail.head('to')]),
      ['approved', 'denied'].map(() => [[HELP, 'u2@site.example'], HELP]),
      // What TAP takes for the end of a line is no name.
      encodeURIComponent(email),
    );
    t.equal(rowsOf(mails[0]?.mail.parts.get('text/html') ?? '').Email, lines(email));
  }
  for (const email of ["o'brien@lab.example", 'first.last+tag@lab.example']) {
    await is({ ...profile, email });
    await patch('2', replace('/approvalStatus', 'approved'));
    await patch('2', replace('/approvalStatus', 'denied'), replace('/denialReason', 'No'));
    await patch('2', replace('/approvalStatus', 'requested'));
    t.match((await sent())[0]?.mail.head('to'), new RegExp(`^${email.replace('+', '\\+')}, `), email);
  }
});

t.test('what a dataset is called and says goes into one subject and into the text alone', async (t) => {
  const { app, patch, sent } = await setup(t);
  for (const [kind, hostile] of Object.entries(HOSTILE)) {
    const said = { displayName: hostile, approvalText: hostile, priorAuthLabel: hostile };
    await app.catalogue.put(
      LEVELS.map((level) => dataset(level, level, said)),
      never,
    );
    const email = `new-${kind}@lab.example`;
    const invited = { datasetId: 'private', isManager: false, email };
    t.equal((await app.call('2', 'POST', '/dataset-providers', invited)).status, 200);
    await patch('2', replace('/approvalStatus', 'approved'));
    const [first, second, ...more] = await sent();
    t.equal(more.length, 0);
    t.strictSame([first?.envelope, second?.envelope], [[email], ['u40@site.example', HELP, 'u2@site.example']], kind);
    // An encoded word is read as what it stands for.
    const title = hostile.replaceAll(/[\s\p{Cc}]+/gu, ' ').replace('=?utf-8?B?PHNjcmlwdD4=?=', '<script>');
    t.equal(first?.mail.head('subject')?.trim(), `${title}: Provider Account`.trim(), kind);
    t.strictSame(
      first?.mail.heads.map(([head]) => head),
      HEADS.filter((head) => head !== 'Cc'),
      kind,
    );
    t.strictSame(
      second?.mail.heads.map(([head]) => head),
      HEADS,
      kind,
    );
    const html = second?.mail.parts.get('text/html') ?? '';
    t.strictSame(
      (html.match(/<[^>]*>?/g) ?? []).filter((tag) => !TAGS.has(tag)),
      [],
      kind,
    );
    await patch('2', replace('/approvalStatus', 'denied'), replace('/denialReason', 'No'));
    await patch('2', replace('/approvalStatus', 'requested'));
    await sent();
  }
});
