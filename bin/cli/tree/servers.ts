// Commands that run until they are stopped.

import { command } from '../command.ts';
import { CONFIG, DEFAULT_DATA_DIR } from './shared-options.ts';

export const UP = command({
  summary: 'start everything on this machine, without any configuration',
  description: [
    'Creates the data directory at the first start, and continues with it at later ones. Besides the services it runs ' +
      'PostgreSQL, two install targets and five sample plugins. Ctrl-C stops everything.',
  ],
  hidesEnvironment: true,
  arguments: {},
  options: {
    data: {
      type: 'string',
      value: 'DIR',
      path: 'directory',
      otherwise: DEFAULT_DATA_DIR,
      what: 'where everything is stored',
    },
    'port-base': {
      type: 'string',
      value: 'N',
      otherwise: "the ports of the data directory's config.yaml; 8080 for a new one",
      what: 'for this run, use the five ports from N to N+4',
    },
    demo: { type: 'boolean', what: 'upload a sample dataset, and show how it is installed' },
    exit: { type: 'boolean', what: 'with --demo: stop after the demo' },
    'postgres-bin': {
      type: 'string',
      value: 'DIR',
      path: 'directory',
      otherwise: "the npm package, then PATH, then Debian's /usr/lib/postgresql",
      what: "where PostgreSQL's programs are",
    },
  },
  examples: [
    { run: 'up --data /tmp/longshore', what: 'keeps everything under /tmp/longshore' },
    { run: 'up --demo --exit', what: 'one dataset goes from upload to installed, then everything stops' },
  ],
  exitCodes: {
    0: 'it was stopped by Ctrl-C or SIGTERM, or the demo succeeded',
    1: 'it could not start, or failed later',
  },
  load: async () => (await import('../../commands/up.ts')).up,
});

export const SERVE = command({
  summary: 'run the services of a configuration file',
  description: [
    'Logs JSON lines to standard output, and runs until SIGTERM or SIGINT. SIGHUP reloads the settings that may change ' +
      'while it runs. SIGUSR2 changes the log level.',
  ],
  hidesEnvironment: true,
  arguments: {},
  options: { config: CONFIG },
  examples: [{ run: 'serve --config /etc/longshore/longshore.yaml', what: 'what the systemd unit runs' }],
  exitCodes: { 0: 'it was stopped by SIGTERM or SIGINT', 1: 'it could not start, or failed later' },
  load: async () => (await import('../../commands/serve.ts')).serve,
});

export const PLUGIN = command({
  summary: 'run the plugin host of one plugin',
  description: [
    'Reads only the sections of the file that a plugin host needs. Of the secrets, it reads only the passwords of the ' +
      'data databases.',
  ],
  hidesEnvironment: true,
  arguments: {},
  options: {
    config: CONFIG,
    id: { type: 'string', value: 'KEY', required: true, what: 'the key of the plugin under installer.plugins' },
  },
  examples: [
    { run: 'plugin --config longshore.yaml --id genelist', what: "serves the scripts of the plugin 'genelist'" },
  ],
  exitCodes: { 0: 'it was stopped by SIGTERM or SIGINT', 1: 'it could not start, or failed later' },
  load: async () => (await import('../../commands/plugin.ts')).plugin,
});
