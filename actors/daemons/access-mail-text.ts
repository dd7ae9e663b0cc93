// The texts of the mails of the dataset access service. User input is escaped in HTML and stands as it is in plain text. A mail
// says which parts the requester wrote, and those parts are truncated.

import mustache from 'mustache';
import type { MailDraft, ToldRequest } from '../../engine/model/access-mail.ts';
import type { CuratedDataset } from '../../engine/ports/access-datasets.ts';
import type { Profile } from '../../engine/ports/access-people.ts';

export interface MailSite {
  /** Undefined = mails contain no links. */
  readonly siteUrl: string | undefined;
  /** Paths from the site's root: where people sign up, and where they request access. */
  readonly registrationPath: string;
  readonly applicationPath: string;
  readonly supportEmail: string | undefined;
}

interface MailWords {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface Template {
  readonly subject: string;
  readonly lead: string;
  readonly link: 'signUp' | 'application';
  /** The text that the dataset itself defines for this mail. */
  readonly own?: (dataset: CuratedDataset) => string;
}

const TEMPLATES: Readonly<Record<MailDraft['template'], Template>> = {
  'provider-register': {
    subject: '{{dataset}}: Provider Account',
    lead: 'You have been named as a provider of {{dataset}}. Please create an account with this email address.',
    link: 'signUp',
  },
  'end-user-register': {
    subject: '{{dataset}}: End User Account',
    lead: 'You have been entered for access to {{dataset}}. Please create an account with this email address.',
    link: 'signUp',
  },
  'edit-managers': {
    subject: '{{dataset}}: Access Request Update',
    lead: '{{person}} has changed a request for access to {{dataset}}.',
    link: 'application',
    own: (dataset) => dataset.managerText,
  },
  'edit-requester': {
    subject: '{{dataset}}: Access Request Update',
    lead: 'Your request for access to {{dataset}} has been changed.',
    link: 'application',
    own: (dataset) => dataset.requesterText,
  },
  approved: {
    subject: '{{dataset}}: Access Request Approved',
    lead: 'The request of {{person}} for access to {{dataset}} has been approved.',
    link: 'application',
    own: (dataset) => dataset.approvalText,
  },
  denied: {
    subject: '{{dataset}}: Access Request Denied',
    lead: 'The request of {{person}} for access to {{dataset}} has been denied.',
    link: 'application',
  },
};

const TEXT = `{{lead}}
{{#own}}

{{own}}
{{/own}}
{{#hasRows}}

{{#rows}}
{{label}}: {{value}}
{{/rows}}

{{note}}
{{/hasRows}}
{{#link}}

{{link}}
{{/link}}
{{#support}}

Questions: {{support}}
{{/support}}
`;

const HTML = `<!doctype html>
<html><body>
<p>{{lead}}</p>
{{#own}}
<p style="white-space: pre-wrap">{{own}}</p>
{{/own}}
{{#hasRows}}
<table>
{{#rows}}
<tr><th style="text-align: left; vertical-align: top">{{label}}</th><td style="white-space: pre-wrap">{{value}}</td></tr>
{{/rows}}
</table>
<p>{{note}}</p>
{{/hasRows}}
{{#link}}
<p><a href="{{link}}">{{link}}</a></p>
{{/link}}
{{#support}}
<p>Questions: {{support}}</p>
{{/support}}
</body></html>
`;

const NOTE =
  'The requester provided name, organization, purpose, research questions and plans. They have not been verified.';

/** In code points. Longer texts are truncated; the full text is on the site. */
const LONGEST_TEXT = 2_000;
const LONGEST_NAME = 500;

function cut(text: string, most: number): string {
  const points = [...text.slice(0, 2 * most + 2)];
  return points.length <= most ? text : `${points.slice(0, most).join('')} [...]`;
}

const plain = (template: string, view: object): string =>
  mustache.render(template, view, undefined, { escape: (value: unknown) => String(value) });

/** @param person the requester, if the draft belongs to a request and the person is known */
export function mailWords(
  draft: MailDraft,
  dataset: CuratedDataset,
  person: Profile | undefined,
  site: MailSite,
): MailWords {
  const { subject, lead, link, own } = TEMPLATES[draft.template];
  const name = 'request' in draft ? nameOf(person, draft.request) : '';
  const words = { dataset: dataset.displayName, person: name };
  const rows = 'request' in draft ? rowsOf(draft.request, dataset, person, name) : [];
  const view = {
    lead: plain(lead, words),
    own: filled(own?.(dataset) ?? '', dataset),
    hasRows: rows.length > 0,
    note: NOTE,
    rows,
    link: linkTo(link, site),
    support: site.supportEmail ?? '',
  };
  return {
    // A header must be a single line.
    subject: plain(subject, words).replaceAll(/[\s\p{Cc}]+/gu, ' '),
    text: plain(TEXT, view),
    html: mustache.render(HTML, view),
  };
}

function linkTo(link: Template['link'], { siteUrl, registrationPath, applicationPath }: MailSite): string {
  if (siteUrl === undefined) return '';
  return siteUrl.replace(/\/$/, '') + (link === 'signUp' ? registrationPath : applicationPath);
}

const filled = (text: string, { datasetId, daysForApproval }: CuratedDataset): string =>
  text.replaceAll('$$DATASET_ID$$', () => datasetId).replaceAll('$$DAYS_FOR_APPROVAL$$', () => String(daysForApproval));

function nameOf(person: Profile | undefined, { userId }: ToldRequest): string {
  const name = [person?.firstName, person?.lastName].filter(Boolean).join(' ');
  return name === '' ? `User ${userId}` : cut(name, LONGEST_NAME);
}

interface Row {
  readonly label: string;
  readonly value: string;
}

function rowsOf(
  request: ToldRequest,
  { priorAuthLabel }: CuratedDataset,
  person: Profile | undefined,
  name: string,
): readonly Row[] {
  const rows: readonly (readonly [label: string, value: string])[] = [
    ['Reason', request.denialReason],
    ['Date of request', request.startDate.toISOString().slice(0, 10)],
    ['Name', name],
    ['Email', person?.email ?? ''],
    ['Organization', person?.affiliation ?? ''],
    ['Purpose', request.purpose],
    ...(priorAuthLabel === '' ? [] : [[priorAuthLabel, request.priorAuth] as const]),
    ['Research questions', request.researchQuestion],
    ['Analysis plan', request.analysisPlan],
    ['Dissemination plan', request.disseminationPlan],
  ];
  return rows.filter(([, value]) => value !== '').map(([label, value]) => ({ label, value: cut(value, LONGEST_TEXT) }));
}
