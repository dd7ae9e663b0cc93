// The whole file, and the sections `access` (dataset access service), `mail` (SMTP server for our mails) and `report` (report
// job service), which are ours.

import type { SchemaNode } from '../schema-node.ts';
import { containerCore } from './container-core.ts';
import { serviceDb, tlsOptions } from './database.ts';
import {
  anyMap,
  choice,
  duration,
  filled,
  flag,
  formed,
  integer,
  type Loaded,
  openAddress,
  optional,
  secret,
  section,
  text,
} from './field.ts';
import { handler } from './handler.ts';
import { installer } from './installer.ts';
import { LIVE_LANE, mailboxKeys } from './lanes.ts';
import { pluginHost } from './plugins.ts';

const sitePath = (description: string, value: string) =>
  text(description, { pattern: '^/', default: value, 'x-allowed': 'a path that starts with /' });

const access = section('Decides who may see which dataset.', {
  db: optional(serviceDb('access')),
  siteUrl: optional(formed<string>('http-url', 'The site that mails link to; required with `mail`.')),
  supportEmail: optional(text('Copied on access mails; required with `mail`.', { format: 'email' })),
  registrationPath: sitePath('Page of the site where people sign up.', '/app/user/registration'),
  applicationPath: sitePath('Page of the site where requests are made.', '/app/study-access'),
  userStudyIdPrefix: text(
    'Put before the id of a user study in permissions, for front ends that look it up so; ids are taken with it and without.',
    {
      pattern: '^[A-Za-z0-9_]{0,32}$',
      default: '',
      'x-allowed': 'at most 32 letters, digits and `_`; no id of a curated dataset may begin with it',
    },
  ),
  permissions: filled('Answers about permissions.', {
    listAll: flag('List every curated dataset, not only those that the caller has to do with.', false),
  }),
  autoApproval: filled('Approval of requests whose waiting time is over.', {
    enabled: flag('Run by timer; the endpoint for it works either way.', true),
    interval: duration('Between runs.', '1h', { positive: true, 'x-live': 'daemon-interval' }),
  }),
});

export const SMTP_PORTS = { none: 25, starttls: 587, tls: 465 } as const;

const mail = section(
  'Outgoing mail.',
  {
    server: openAddress(
      `SMTP server. The port defaults to ${SMTP_PORTS.starttls}, ${SMTP_PORTS.tls} with \`tls\`, ${SMTP_PORTS.none} with \`none\`.`,
    ),
    security: choice(
      'How the connection is encrypted; `starttls` refuses a server that cannot.',
      ['starttls', 'tls', 'none'],
      {
        default: 'starttls',
      },
    ),
    tlsOptions,
    username: optional(text('User, when the server wants one.', { minLength: 1 })),
    password: optional(secret('Password of the user.', 1)),
    from: text('Sender of our mails.', { format: 'email' }),
    replyTo: optional(text('Where answers go; the sender when absent.', { format: 'email' })),
    timeout: duration('For connecting and for each answer of the server.', '30s', { positive: true }),
    retry: filled('Of mails that the server did not take.', {
      attempts: integer('In all.', { minimum: 1, maximum: 100, default: 12 }),
      base: duration('Wait before the second try; it doubles from try to try, with jitter.', '1m', { positive: true }),
      max: duration('Longest wait.', '6h', { positive: true }),
    }),
  },
  { also: { dependentRequired: { username: ['password'], password: ['username'] } } },
);
export type MailConfiguration = Loaded<typeof mail>;

const GIB = 1_073_741_824;

const report = section('Formats alignment reports of earlier query jobs.', {
  queryJobs: section('Where query jobs are found.', {
    root: formed<string>('path', 'Directory with one directory per query job.'),
  }),
  blastBin: optional(formed<string>('path', 'Directory of the BLAST+ programs; PATH when absent.')),
  blastDb: optional(formed<string>('search-path', 'Directories of BLAST databases, colon-separated (BLASTDB).')),
  db: optional(serviceDb('report')),
  lane: filled('Its mailbox and workers.', mailboxKeys(20, 4, LIVE_LANE)),
  maxQueued: integer('Jobs that wait; more are answered 503.', { minimum: 1, maximum: 1_000_000, default: 10_000 }),
  maxQueuedPerUser: integer('Jobs of one user, or of all guests of one address, that wait; more are answered 429.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 200,
  }),
  maxDuration: duration('For one run of the formatter.', '1h', { positive: true }),
  maxOutputSize: integer('Bytes of all files of one job.', { minimum: 1_048_576, default: 10 * GIB }),
  retryAfter: duration('After which the same request runs a failed job again.', '60s'),
  retention: duration('After the last access, before a job expires.', '30d', { positive: true }),
});
export type ReportConfiguration = Loaded<typeof report>;

const root = section('Configuration of Longshore.', {
  $schema: optional(text('URL of the JSON Schema, for editors.', { format: 'uri' })),
  definitions: optional(anyMap('Values to be shared by YAML anchors and aliases; not read otherwise.')),
  containerCore,
  installer,
  pluginHost: optional(pluginHost),
  handler: optional(handler),
  report: optional(report),
  access: optional(access),
  mail: optional(mail),
});
export type RootFile = Loaded<typeof root>;

/** The schema that the loader, the printer and editors use. */
export const ROOT_SCHEMA = root as SchemaNode;
