// The whole file, and the sections `access` (dataset access service), `mail` (SMTP server for our mails) and `report` (report
// job service), which are ours.

import type { SchemaNode } from '../schema-node.ts';
import { containerCore } from './container-core.ts';
import { serviceDb, tlsOptions } from './database.ts';
import {
  anyMap,
  choice,
  derived,
  duration,
  filled,
  flag,
  formed,
  integer,
  type Loaded,
  list,
  openAddress,
  optional,
  port,
  secret,
  section,
  size,
  text,
} from './field.ts';
import { installer } from './installer.ts';
import { LIVE_LANE, mailboxKeys } from './lanes.ts';
import { archives, pluginHost, TOKEN_LENGTH } from './plugins.ts';

const sitePath = (description: string, value: string) =>
  text(description, { pattern: '^/', default: value, 'x-allowed': 'a path that starts with /' });

const access = section('Decides who may see which dataset.', {
  db: optional(serviceDb('access')),
  siteUrl: optional(formed<string>('http-url', 'Base URL of the site that mails link to. Required with `mail`.')),
  supportEmail: optional(
    text('Address that receives a copy of access mails. Required with `mail`.', { format: 'email' }),
  ),
  registrationPath: sitePath('Page of the site where people sign up.', '/app/user/registration'),
  applicationPath: sitePath('Page of the site where requests are made.', '/app/study-access'),
  userStudyIdPrefix: text(
    'Prefix of user study ids in permissions, for front ends that expect it. Ids are accepted with and without it.',
    {
      pattern: '^[A-Za-z0-9_]{0,32}$',
      default: '',
      'x-allowed': 'at most 32 letters, digits and `_`; no id of a curated dataset may begin with it',
    },
  ),
  permissions: filled('Responses about permissions.', {
    listAll: flag('List every curated dataset, not only those related to the caller.', false),
  }),
  autoApproval: filled('Automatic approval of requests after their waiting time.', {
    enabled: flag('Run periodically. The endpoint works in any case.', true),
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
      'How the connection is encrypted. `starttls` fails if the server does not support it.',
      ['starttls', 'tls', 'none'],
      {
        default: 'starttls',
      },
    ),
    tlsOptions,
    username: optional(text('User name, if the server requires one.', { minLength: 1 })),
    password: optional(secret('Password of the user.', 1)),
    from: text('Sender of our mails.', { format: 'email' }),
    replyTo: optional(text('Reply address. Default: the sender.', { format: 'email' })),
    timeout: duration('For connecting and for each response of the server.', '30s', { positive: true }),
    retry: filled('How rejected or unsent mails are retried.', {
      attempts: integer('Maximum number of attempts.', { minimum: 1, maximum: 100, default: 12 }),
      base: duration('Delay before the second attempt; it doubles with each attempt, with jitter.', '1m', {
        positive: true,
      }),
      max: duration('Maximum delay.', '6h', { positive: true }),
    }),
  },
  { also: { dependentRequired: { username: ['password'], password: ['username'] } } },
);
export type MailConfiguration = Loaded<typeof mail>;

const GIB = 1_073_741_824;

const report = section('Formats alignment reports of earlier query jobs.', {
  queryJobs: section('Where query jobs are stored.', {
    root: formed<string>('path', 'Directory that contains one directory per query job.'),
  }),
  blastBin: optional(formed<string>('path', 'Directory of the BLAST+ programs. Default: PATH.')),
  blastDb: optional(formed<string>('search-path', 'Directories of BLAST databases, colon-separated (BLASTDB).')),
  db: optional(serviceDb('report')),
  lane: filled('Mailbox and workers of the lane.', mailboxKeys(20, 4, LIVE_LANE)),
  maxQueued: integer('Maximum number of waiting jobs; further requests get 503.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
  }),
  maxQueuedPerUser: integer(
    'Maximum number of waiting jobs per user, or per address for guests; further requests get 429.',
    {
      minimum: 1,
      maximum: 1_000_000,
      default: 200,
    },
  ),
  maxDuration: duration('Maximum duration of one formatter run.', '1h', { positive: true }),
  maxOutputSize: size('Maximum bytes of all files of one job.', { minimum: 1_048_576, default: 10 * GIB }),
  retryAfter: duration('Time after which the same request retries a failed job.', '60s'),
  retention: duration('Time after the last access at which a job expires.', '30d', { positive: true }),
});
export type ReportConfiguration = Loaded<typeof report>;

// `handler`: the handler job service. `serviceName`, `port`, `configPath` and `commands` are the contract's Options, which
// allow further keys; the other keys are ours.

const command = section('One step; the first that fails ends the job.', {
  command: formed<string>('program', 'Executable, by name or path. It is not run through a shell.'),
  arguments: list(
    'Arguments, passed unchanged except that `<<variable>>` is replaced.',
    text('One argument.', { 'x-shell': true }),
  ),
  maxDuration: duration('Maximum duration of one run.', '1h', { positive: true }),
});

const handler = section(
  'Runs commands on packaged datasets.',
  {
    serviceName: text('Name of the service.', { minLength: 1 }),
    port: port('Port of the service.', { minimum: 80 }),
    configPath: text('Path of the configuration that `/config` reports.', { minLength: 1 }),
    commands: list('Steps of a job, run in order in one workspace.', command, { minItems: 1 }),
    bindHost: derived(
      formed<string>('bind-host', 'Address to listen on.'),
      '`containerCore.http.bindHost` with a token, else 127.0.0.1',
    ),
    token: optional(secret('Bearer token required by `/job/*`. If absent, they are open.', TOKEN_LENGTH)),
    workspace: optional(
      formed<string>('path', "Directory of the workspaces. Default: the system's directory for temporary files."),
    ),
    maxUnpackedSize: size('Maximum bytes of an unpacked dataset.', { minimum: 1_048_576, default: 5 * GIB }),
    archives,
    passEnvironment: list(
      'Environment variables passed on to commands.',
      text('Name.', { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', 'x-allowed': 'the name of a variable' }),
      { uniqueItems: true, default: [] },
    ),
    lane: filled('Mailbox and workers of the lane.', mailboxKeys(16, 4)),
    maxResultsPerOwner: size("Maximum bytes of stored results per owner. At the limit, the owner's uploads get 429.", {
      minimum: 1_048_576,
      default: 20 * GIB,
    }),
    resultRetention: duration('How long a result can be fetched.', '24h', { positive: true }),
    historyRetention: duration('How long the record of a job is kept.', '72h', { positive: true }),
  },
  { open: true },
);

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
