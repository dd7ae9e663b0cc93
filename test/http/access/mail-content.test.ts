// What people write, sent by SMTP: it stays where it belongs, and is text and nothing else.

import t from 'tap';
import { sendDue } from '../../../actors/daemons/access-mail.ts';
import { PostgresAccounts } from '../../../engine/adapters/datasets/accounts-postgres.ts';
import { EDIT_MAIL_BOUNDS } from '../../../engine/model/access-mail.ts';
import { parseUserId } from '../../../engine/model/ids.ts';
import { type ReadMail, readMail } from '../../support/read-mail.ts';
import { smtpServer } from '../../support/smtp-server.ts';
import { accessApp, dataset, enters, never, replace } from './access-app.ts';
import { HELP, mailing } from './mailing.ts';

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
  unicode: 'Zoë evil 漢字 \u{1F9EC} \u0085Bcc: evil@evil.example\u2028<b>\u2029</b>',
  long: `${'a'.repeat(3_000)}<b>${'é'.repeat(3_000)}`,
};

const TEXT_FIELDS = ['purpose', 'researchQuestion', 'analysisPlan', 'disseminationPlan', 'priorAuth'] as const;
const HEADS = ['From', 'To', 'Cc', 'Reply-To', 'Subject', 'Message-ID', 'Date', 'MIME-Version', 'Content-Type'];

async function setup(t: Parameters<typeof accessApp>[0]) {
  const app = await accessApp(t);
  const server = await smtpServer(t);
  const options = mailing(t, app, server);
  const userId = parseUserId('40');
  if (!userId) throw new Error('no id');
  for (const user of ['1', '2', '40']) await app.call(user, 'GET', '/permissions');
  await enters(app, 40, 'private', {});
  const patch = async (who: string, ...items: object[]): Promise<void> => {
    const { status } = await app.call(who, 'PATCH', '/dataset-end-users/40-private', items);
    if (status !== 204) throw new Error(`not changed: ${status}`);
  };
  return {
    ...{ app, patch },
    /** Two mails: the request is approved, and denied. */
    decide: async (reason: string): Promise<void> => {
      await patch('2', replace('/approvalStatus', 'approved'));
      await patch('2', replace('/approvalStatus', 'denied'), replace('/denialReason', reason));
    },
    /** The mails that are due, as they came; the request may be decided about again. */
    sent: async (): Promise<readonly { readonly envelope: readonly string[]; readonly mail: ReadMail }[]> => {
      const before = server.mails.length;
      await sendDue(options, never);
      await patch('2', replace('/approvalStatus', 'requested'));
      return server.mails.slice(before).map(({ to, content }) => ({ envelope: to, mail: readMail(content) }));
    },
    is: (profile: { firstName: string; lastName: string; email: string; affiliation: string }): Promise<void> =>
      new PostgresAccounts(app.cache).remember({ userId, ...profile }, never),
  };
}

const headsOf = ({ heads }: ReadMail): readonly string[] => heads.map(([head]) => head);
/** Those that no template has. */
const foreignTags = (mail: ReadMail): readonly string[] =>
  (mail.parts.get('text/html')?.match(/<[^>]*>?/g) ?? []).filter((tag) => !TAGS.has(tag));
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

/** What is very long is cut. */
function told(label: string, value: string): string {
  const [points, most] = [[...value], label === 'Name' ? 500 : 2_000];
  return points.length <= most ? value : `${points.slice(0, most).join('')} [...]`;
}

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
    const { app, patch, decide, sent, is } = await setup(t);
    await app.catalogue.put([dataset('private', 'private', { priorAuthLabel: 'Agreement' })], never);
    const [person, manager] = ['uwe@lab.example', 'u2@site.example'];
    for (const [kind, hostile] of Object.entries(HOSTILE)) {
      const said = (field: string): string => `${field} ${hostile} ${field}`;
      // Names come from the identity provider, not through the checks of bodies.
      const named = (field: string): string => `${said(field)} \u202Eevil\u202C`;
      // So long after the last edit its mails are due at once, and the author has some left for the day.
      await app.clock.advance(2 * EDIT_MAIL_BOUNDS.periodMs);
      await patch('40', ...TEXT_FIELDS.map((field) => replace(`/${field}`, said(field))));
      await decide(said('reason'));
      // After the calls: each of them says who the person is.
      await is({ firstName: named('first'), lastName: named('last'), affiliation: named('lab'), email: person });
      const rows: Record<string, string> = {
        ...{ 'Date of request': '2026-01-01', Name: `${named('first')} ${named('last')}`, Email: person },
        ...{ Organization: named('lab'), Purpose: said('purpose'), Agreement: said('priorAuth') },
        ...{ 'Research questions': said('researchQuestion'), 'Analysis plan': said('analysisPlan') },
        'Dissemination plan': said('disseminationPlan'),
      };
      const mails = await sent();
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
        const expected = i === 3 ? { Reason: said('reason'), ...rows } : rows;
        const shown = Object.entries(expected).map(([label, value]) => [label, lines(told(label, value))] as const);
        const text = mail.parts.get('text/plain') ?? '';
        t.strictSame(
          {
            ...{ heads: headsOf(mail), parts: [...mail.parts.keys()], foreignTags: foreignTags(mail) },
            table: rowsOf(mail.parts.get('text/html') ?? ''),
            notInText: shown.filter(([label, value]) => !text.includes(`\n${label}: ${value}\n`)),
          },
          {
            ...{ heads: HEADS.filter((head) => i > 1 || head !== 'Cc'), parts: ['text/plain', 'text/html'] },
            ...{ foreignTags: [], table: Object.fromEntries(shown), notInText: [] },
          },
          about,
        );
      }
    }
  },
);

t.test('an account whose address is not one address is not written to', async (t) => {
  const { decide, sent, is } = await setup(t);
  const profile = { firstName: 'Uwe', lastName: 'Doe', affiliation: 'Lab' };
  for (const email of [
    ...['uwe@lab.example, evil@evil.example', 'uwe@lab.example;evil@evil.example', 'uwe', '@lab.example', ' '],
    ...['uwe@lab.example\r\nBcc: evil@evil.example', 'group: uwe@lab.example, evil@evil.example;'],
    ...['Uwe <evil@evil.example>', '"uwe@lab.example" <evil@evil.example>', 'uwe\u2028evil@evil.example'],
    ...['evil@evil.example>\r\nRCPT TO:<evil@evil.example', 'uwe@lab.example (evil@evil.example)'],
  ]) {
    await is({ ...profile, email });
    await decide('No');
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
    await decide('No');
    t.equal((await sent())[0]?.mail.head('to'), `${email}, ${HELP}`, email);
  }
});

t.test('what a dataset is called and says goes into one subject and into the text alone', async (t) => {
  const { app, patch, sent } = await setup(t);
  for (const [kind, hostile] of Object.entries(HOSTILE)) {
    const said = { displayName: hostile, approvalText: hostile, priorAuthLabel: hostile };
    await app.catalogue.put([dataset('private', 'private', said)], never);
    const email = `new-${kind}@lab.example`;
    const invited = { datasetId: 'private', isManager: false, email };
    t.equal((await app.call('2', 'POST', '/dataset-providers', invited)).status, 200);
    await patch('2', replace('/approvalStatus', 'approved'));
    await patch('2', replace('/approvalStatus', 'denied'));
    const [first, second, ...more] = await sent();
    if (!first || !second) throw new Error('no mails');
    t.equal(more.length, 1);
    t.strictSame([first.envelope, second.envelope], [[email], ['u40@site.example', HELP, 'u2@site.example']], kind);
    // An encoded word is read as what it stands for.
    const title = hostile.replaceAll(/[\s\p{Cc}]+/gu, ' ').replace('=?utf-8?B?PHNjcmlwdD4=?=', '<script>');
    t.equal(first.mail.head('subject')?.trim(), `${title}: Provider Account`.trim(), kind);
    t.strictSame(
      [headsOf(first.mail), headsOf(second.mail), foreignTags(second.mail)],
      [HEADS.filter((head) => head !== 'Cc'), HEADS, []],
      kind,
    );
  }
});
