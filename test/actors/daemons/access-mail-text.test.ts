import t from 'tap';
import { mailWords } from '../../../actors/daemons/access-mail-text.ts';
import type { MailDraft } from '../../../engine/model/access-mail.ts';
import { parseUserId } from '../../../engine/model/ids.ts';
import { dataset } from '../../http/access/access-app.ts';

const userId = parseUserId('40');
if (!userId) throw new Error('no id');
const study = dataset('S1', 'private', { displayName: 'Fever & <more>', priorAuthLabel: 'Agreement no.' });
const site = {
  siteUrl: 'https://site.example/',
  registrationPath: '/sign-up',
  applicationPath: '/apply',
  supportEmail: 'support@site.example',
};
const EVIL = '<script>alert("1")</script> {{lead}} & co';
const request = {
  ...{ userId, purpose: EVIL, researchQuestion: 'Why?', analysisPlan: 'Look', disseminationPlan: '' },
  ...{ priorAuth: '12-3', denialReason: '', startDate: new Date('2026-01-02T00:00:00Z') },
};
const person = { userId, firstName: 'Uwe', lastName: '<b>Doe</b>', email: 'u@lab.example', affiliation: 'Lab' };
const draft = (template: 'edit-managers' | 'edit-requester' | 'approved' | 'denied'): MailDraft => ({
  ...{ template, datasetId: study.datasetId, request },
});

t.test('what people wrote is escaped in HTML and stands as it is in text; nothing of it is a template', async (t) => {
  const { html, text, subject } = mailWords(draft('edit-managers'), study, person, site);
  t.notMatch(html, /<script>|<b>|<more>/);
  t.match(html, '&lt;script&gt;alert(&quot;1&quot;)&lt;&#x2F;script&gt; {{lead}} &amp; co');
  t.match(text, EVIL);
  t.match(text, 'Uwe <b>Doe</b> has changed a request for access to Fever & <more>.');
  t.equal(subject, 'Fever & <more>: Access Request Update');
});

t.test('each mail has its subject, its link and the table of the request', async (t) => {
  const subjects = (['edit-managers', 'edit-requester', 'approved', 'denied'] as const).map(
    (template) => mailWords(draft(template), study, person, site).subject,
  );
  t.strictSame(
    subjects,
    ['Update', 'Update', 'Approved', 'Denied'].map((word) => `Fever & <more>: Access Request ${word}`),
  );
  t.equal(
    mailWords(draft('approved'), study, person, site).text,
    [
      'The request of Uwe <b>Doe</b> for access to Fever & <more> has been approved.',
      '',
      ...['Date of request: 2026-01-02', 'Name: Uwe <b>Doe</b>', 'Email: u@lab.example', 'Organization: Lab'],
      ...[`Purpose: ${EVIL}`, 'Agreement no.: 12-3', 'Research questions: Why?', 'Analysis plan: Look'],
      '',
      'The requester provided name, organization, purpose, research questions and plans. They have not been verified.',
      '',
      'https://site.example/apply',
      '',
      'Questions: support@site.example',
      '',
    ].join('\n'),
  );
  for (const [template, word] of [
    ['provider-register', 'Provider'],
    ['end-user-register', 'End User'],
  ] as const) {
    const words = mailWords({ template, datasetId: study.datasetId, email: 'x@y.example' }, study, undefined, site);
    t.equal(words.subject, `Fever & <more>: ${word} Account`);
    t.match(words.text, 'https://site.example/sign-up');
  }
});

t.test('what somebody wrote is cut, between characters', (t) => {
  const long = { ...request, purpose: '🧬'.repeat(2_001), analysisPlan: '🧬'.repeat(2_000) };
  const names = { ...person, firstName: 'Ann', lastName: 'x'.repeat(900) };
  const { text } = mailWords(
    { template: 'edit-managers', datasetId: study.datasetId, request: long },
    study,
    names,
    site,
  );
  t.match(text, `Purpose: ${'🧬'.repeat(2_000)} [...]\n`);
  t.match(text, `Analysis plan: ${'🧬'.repeat(2_000)}\n`);
  t.match(text, `Ann ${'x'.repeat(496)} [...] has changed a request`);
  t.end();
});

t.test('a name of some hundred characters stands whole, and a mail is bounded, whatever was written', async (t) => {
  const lastName = 'von der Marwitz-'.repeat(20);
  const words = mailWords(draft('edit-managers'), study, { ...person, firstName: 'Ann', lastName }, site);
  t.match(words.text, `Name: Ann ${lastName}\n`);
  // Of all characters it takes the most as HTML.
  const much = '/'.repeat(200_000);
  const texts = { purpose: much, researchQuestion: much, analysisPlan: much, disseminationPlan: much };
  const long = { ...request, ...texts, priorAuth: much, denialReason: much };
  const wordy = { userId, firstName: much, lastName: much, email: much, affiliation: much };
  for (const template of ['edit-managers', 'edit-requester', 'approved', 'denied'] as const) {
    const mail = mailWords({ template, datasetId: study.datasetId, request: long }, study, wordy, site);
    t.ok(mail.text.length < 20_000, `${template}: ${mail.text.length} characters of text`);
    t.ok(mail.html.length < 110_000, `${template}: ${mail.html.length} of HTML`);
    t.ok(mail.subject.length < 200, `${template}: ${mail.subject.length} of a subject`);
  }
});

t.test("the dataset's own texts are filled in and shown to whom they are for", async (t) => {
  const own = dataset('S1', 'protected', {
    ...{ daysForApproval: 3, managerText: 'For managers', approvalText: 'Welcome' },
    requesterText: '$$DATASET_ID$$ in $$DAYS_FOR_APPROVAL$$ days',
  });
  const textOf = (template: Parameters<typeof draft>[0]): string => mailWords(draft(template), own, person, site).text;
  t.match(textOf('edit-managers'), 'For managers');
  t.match(textOf('edit-requester'), 'S1 in 3 days');
  t.match(textOf('approved'), 'Welcome');
  t.notMatch(textOf('denied'), /For managers|Welcome|3 days/);
});

t.test('without a site there is no link, without an account the id stands for the name', async (t) => {
  const words = mailWords(draft('denied'), study, undefined, { ...site, siteUrl: undefined });
  t.notMatch(words.html, /href|undefined/);
  t.notMatch(words.text, /undefined/);
  t.match(words.text, 'The request of User 40 for access');
});

t.test('a head has one line, whatever a dataset is called', async (t) => {
  const named = dataset('S1', 'private', { displayName: 'A\r\nBcc: evil@x.example\u0000 B' });
  t.equal(mailWords(draft('denied'), named, person, site).subject, 'A Bcc: evil@x.example B: Access Request Denied');
});
