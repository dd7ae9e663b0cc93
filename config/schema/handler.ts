// `handler`: the handler job service. `serviceName`, `port`, `configPath` and `commands` are the contract's Options, which
// allow further keys; the other keys are ours.

import { derived, duration, filled, formed, integer, list, optional, port, secret, section, text } from './field.ts';
import { mailboxKeys } from './lanes.ts';
import { archives, TOKEN_LENGTH } from './plugins.ts';

const GIB = 1_073_741_824;

const command = section('One step; the first that fails ends the job.', {
  command: formed<string>('program', 'One executable, by name or path; never a line for a shell.'),
  arguments: list('Arguments, each passed as it is; `<<variable>>` is replaced.', text('One argument.')),
  maxDuration: duration('For one run, from its start.', '1h', { positive: true }),
});

export const handler = section(
  'Runs commands on packaged datasets.',
  {
    serviceName: text('Name of the service.', { minLength: 1 }),
    port: port('Port of the service.', { minimum: 80 }),
    configPath: text('Path of the configuration as `/config` tells it.', { minLength: 1 }),
    commands: list('Steps of a job, in order, on one workspace.', command, { minItems: 1 }),
    bindHost: derived(
      formed<string>('bind-host', 'Address to listen on.'),
      '`containerCore.http.bindHost` with a token, else 127.0.0.1',
    ),
    token: optional(secret('Bearer token that `/job/*` needs; open when absent.', TOKEN_LENGTH)),
    workspace: optional(formed<string>('path', "Directory of the workspaces; the system's for temporary files.")),
    maxUnpackedSize: integer('Bytes of an unpacked dataset.', { minimum: 1_048_576, default: 5 * GIB }),
    archives,
    passEnvironment: list(
      'Variables of our environment that commands get.',
      text('Name.', { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', 'x-allowed': 'the name of a variable' }),
      { uniqueItems: true, default: [] },
    ),
    lane: filled('Its mailbox and workers.', mailboxKeys(16, 4)),
    maxResultsPerOwner: integer(
      "Bytes of kept results of one owner. While there are as many, the owner's uploads are answered 429.",
      { minimum: 1_048_576, default: 20 * GIB },
    ),
    resultRetention: duration('That a result can be fetched again.', '24h', { positive: true }),
    historyRetention: duration('That the record of a job is kept.', '72h', { positive: true }),
  },
  { open: true },
);
