// `handler`: the handler job service. `serviceName`, `port`, `configPath` and `commands` are the contract's Options, which
// allow further keys; the other keys are ours.

import { derived, duration, filled, formed, integer, list, optional, port, secret, section, text } from './field.ts';
import { mailboxKeys } from './lanes.ts';
import { archives, TOKEN_LENGTH } from './plugins.ts';

const GIB = 1_073_741_824;

const command = section('One step; the first that fails ends the job.', {
  command: formed<string>('program', 'Executable, by name or path. It is not run through a shell.'),
  arguments: list('Arguments, passed unchanged except that `<<variable>>` is replaced.', text('One argument.')),
  maxDuration: duration('Maximum duration of one run.', '1h', { positive: true }),
});

export const handler = section(
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
    maxUnpackedSize: integer('Maximum bytes of an unpacked dataset.', { minimum: 1_048_576, default: 5 * GIB }),
    archives,
    passEnvironment: list(
      'Environment variables passed on to commands.',
      text('Name.', { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', 'x-allowed': 'the name of a variable' }),
      { uniqueItems: true, default: [] },
    ),
    lane: filled('Mailbox and workers of the lane.', mailboxKeys(16, 4)),
    maxResultsPerOwner: integer(
      "Maximum bytes of stored results per owner. At the limit, the owner's uploads get 429.",
      { minimum: 1_048_576, default: 20 * GIB },
    ),
    resultRetention: duration('How long a result can be fetched.', '24h', { positive: true }),
    historyRetention: duration('How long the record of a job is kept.', '72h', { positive: true }),
  },
  { open: true },
);
