import t from 'tap';
import { eventMailWords } from '../../../actors/daemons/event-mail-text.ts';
import { MAILED_KINDS, type ToldEvent } from '../../../engine/model/event-mail.ts';
import type { DatasetId, TargetId } from '../../../engine/model/ids.ts';

const dataset = '0VbfWYbontYX1Se4' as DatasetId;
const at = Date.UTC(2026, 10, 26, 20, 5, 59);
const told = (more: Partial<ToldEvent> = {}): ToldEvent => ({
  ...{ kind: 'installed', at, dataset, name: 'Genes of interest', detail: {} },
  ...more,
});
const subjectOf = (more: Partial<ToldEvent>): string => eventMailWords([told(more)], 1).subject;

t.test('one event is the subject, whatever it is', async (t) => {
  const target = 'AlphaDB' as TargetId;
  t.strictSame(
    [
      ...MAILED_KINDS.map((kind) => subjectOf({ kind })),
      subjectOf({ kind: 'import-ended', detail: { status: 'complete' } }),
      subjectOf({ kind: 'import-ended', detail: { status: 'invalid' } }),
      subjectOf({ kind: 'import-ended', detail: { status: 'failed' } }),
      subjectOf({ kind: 'failed', detail: { step: 'install', target } }),
      subjectOf({ kind: 'failed', detail: { step: 'metadata', target } }),
      subjectOf({ kind: 'deleted', name: undefined }),
    ],
    [
      '"Genes of interest" was accepted',
      '"Genes of interest" was imported',
      '"Genes of interest" is installed',
      '"Genes of interest": its upload failed',
      '"Genes of interest" was deleted',
      '"Genes of interest" was shared with you',
      '"Genes of interest": your access will expire soon',
      '"Genes of interest" was imported',
      '"Genes of interest" was not imported: its data are not valid',
      '"Genes of interest" could not be imported',
      '"Genes of interest": it could not be installed on AlphaDB',
      '"Genes of interest": its metadata could not be installed on AlphaDB',
      'Dataset 0VbfWYbontYX1Se4 was deleted',
    ],
  );
});

t.test('several events are listed, with how many are not', async (t) => {
  const events = [
    told({ kind: 'accepted' }),
    told({ kind: 'failed', detail: { step: 'upload', messages: ['no data'] } }),
  ];
  const { subject, text } = eventMailWords(events, 12);
  t.equal(subject, '12 events of your datasets');
  t.equal(
    text,
    `"Genes of interest" was accepted
  0VbfWYbontYX1Se4, 2026-11-26 20:05 UTC

"Genes of interest": its upload failed
  0VbfWYbontYX1Se4, 2026-11-26 20:05 UTC
  no data

And 10 more.

You get these mails because you asked for them. The service's settings for notifications (PATCH /users/self/notifications) end
them.
`,
  );
  t.notMatch(eventMailWords(events, 2).text, /more\./);
});

t.test('names and messages are one line, shortened, escaped in HTML, and no templates', async (t) => {
  const name = `<b>{{more}}</b>\r\nBcc: all@example.org ${'ü'.repeat(200)}`;
  const { subject, text, html } = eventMailWords([told({ name, detail: { messages: ['<i>\nx'] } })], 1);
  t.match(subject, /^"<b>\{\{more\}\}<\/b> Bcc: all@example\.org ü+ \[\.\.\.\]" is installed$/);
  t.notMatch(subject, /[\r\n]/);
  t.equal([...subject].length, 100 + ' [...]'.length + '"" is installed'.length);
  t.match(text, '  <i> x\n');
  t.notMatch(html, /<b>|<i>/);
  t.match(html, '&lt;b&gt;{{more}}&lt;&#x2F;b&gt; Bcc');
});
