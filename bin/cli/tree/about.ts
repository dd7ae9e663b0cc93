// Commands that tell about the program itself, and what holds for all commands.

import { command, EXIT, type ExitCode } from '../command.ts';
import { JSON_OUTPUT } from './shared-options.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const HELP = command({
  summary: 'show the commands, or how to use one',
  arguments: { command: { many: true, optional: true, what: 'a command, with its subcommand if it has one' } },
  options: {},
  examples: [
    { run: 'help', what: 'lists all commands' },
    { run: 'help datasets show', what: "the same as 'longshore datasets show --help'" },
  ],
  load: async () => (await import('../../commands/about.ts')).help,
});

export const VERSION = command({
  summary: 'print the version',
  arguments: {},
  options: { json: JSON_OUTPUT },
  examples: [{ run: 'version', what: "the same as 'longshore --version' and 'longshore -v'" }],
  load: async () => (await import('../../commands/about.ts')).version,
});

export const COMPLETION = command({
  summary: 'print the completion script for bash, zsh or fish',
  description: [
    'The Debian package installs the scripts. Without it, put the command of your shell into its startup file.',
  ],
  arguments: { shell: { values: SHELLS, what: 'the shell' } },
  options: {},
  examples: [
    { run: 'completion bash', what: 'in ~/.bashrc: source <(longshore completion bash)' },
    { run: 'completion zsh', what: 'in ~/.zshrc, after compinit: source <(longshore completion zsh)' },
    {
      run: 'completion fish > ~/.config/fish/completions/longshore.fish',
      what: 'fish reads the file by itself',
    },
  ],
  load: async () => (await import('../../commands/completion.ts')).completion,
});

/** What exit codes mean, unless a command says more. Codes of plugins' scripts are not for people. */
export const EXIT_CODES: Readonly<Record<Exclude<ExitCode, 75 | 99>, string>> = {
  [EXIT.ok]: 'success',
  [EXIT.failed]: 'it failed, was refused or was stopped',
  [EXIT.usage]: 'wrong usage: an unknown command, option or value',
  [EXIT.configuration]: 'the configuration is wrong',
  [EXIT.unreachable]: 'a server or another dependency could not be reached, or is not available at the moment',
};

export const ENVIRONMENT: Readonly<Record<string, string>> = {
  LONGSHORE_SERVER: 'the base URL of the server, unless --server or --data is given',
  LONGSHORE_TOKEN: 'the bearer token of commands for users, unless --token is given',
  LONGSHORE_ADMIN_TOKEN: 'the token of commands for administrators, unless --admin-token is given',
  NO_COLOR: 'if set, output has no colors',
};

export const FILES: Readonly<Record<string, string>> = {
  '/etc/longshore/longshore.yaml': 'the configuration of the service, in an installation by the Debian package',
  '/var/lib/longshore': 'the data of the service, and the data directory of longshore up as root',
  '~/.local/state/longshore': 'the data directory of longshore up for other users',
};
