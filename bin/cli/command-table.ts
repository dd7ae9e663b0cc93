// All commands by name. Loaded on demand, so that neither help nor a plugin's script waits for a web server's libraries.

import type { Command } from './command.ts';

export interface CommandEntry {
  /** One line for `longshore help` and for shell completion. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
  /** Runs third-party programs, which could see the environment of its start (hidden-environment.ts). */
  readonly hidesEnvironment?: true;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  up: {
    summary: 'start everything on this machine, with nothing to install or configure',
    hidesEnvironment: true,
    load: async () => (await import('../commands/up.ts')).up,
  },
  serve: {
    summary: 'run what a configuration file configures',
    hidesEnvironment: true,
    load: async () => (await import('../commands/serve.ts')).serve,
  },
  plugin: {
    summary: 'run the plugin host of one plugin',
    hidesEnvironment: true,
    load: async () => (await import('../commands/plugin.ts')).plugin,
  },
  migrate: {
    summary: 'bring the cache database, and those of the report and access services, up to date',
    load: async () => (await import('../commands/migrate.ts')).migrateCommand,
  },
  'migrate-target': {
    summary: "bring an install target's control schema up to date",
    load: async () => (await import('../commands/migrate.ts')).migrateTargetCommand,
  },
  token: {
    summary: 'print a bearer token of the local issuer',
    load: async () => (await import('../commands/token.ts')).token,
  },
  upload: {
    summary: 'send files as a new dataset',
    load: async () => (await import('../commands/upload.ts')).upload,
  },
  watch: {
    summary: 'follow a dataset until it is installed or has failed',
    load: async () => (await import('../commands/watch.ts')).watch,
  },
  datasets: {
    summary: 'list, show, download, revise, delete or share datasets',
    load: async () => (await import('../commands/datasets.ts')).datasets,
  },
  jobs: {
    summary: 'show what the lanes have to do (administrators)',
    load: async () => (await import('../commands/jobs.ts')).jobs,
  },
  top: {
    summary: 'show lanes, workers, daemons and dependencies live',
    load: async () => (await import('../commands/top.ts')).top,
  },
  retry: {
    summary: 'have a delayed or dead job tried again (administrators)',
    load: async () => (await import('../commands/retry.ts')).retry,
  },
  reconcile: {
    summary: 'compare all datasets with the object store now (administrators)',
    load: async () => (await import('../commands/reconcile.ts')).reconcile,
  },
  prune: {
    summary: 'remove what was deleted long enough ago for good now (administrators)',
    load: async () => (await import('../commands/prune.ts')).prune,
  },
  reload: {
    summary: 'have a running server take over what may change of its configuration (administrators)',
    load: async () => (await import('../commands/reload.ts')).reload,
  },
  'log-level': {
    summary: 'have a running server log more or less for a while (administrators)',
    load: async () => (await import('../commands/log-level.ts')).logLevel,
  },
  audit: {
    summary: 'print who asked for what as JSON lines (administrators)',
    load: async () => (await import('../commands/audit.ts')).audit,
  },
  access: {
    summary: "import curated datasets, or list the mails that 'up' keeps as files",
    load: async () => (await import('../commands/access.ts')).access,
  },
  query: {
    summary: 'search with BLAST+, for reports of the result',
    load: async () => (await import('../commands/query.ts')).query,
  },
  doctor: {
    summary: 'check everything that a configuration file names, and say how to mend what is wrong',
    load: async () => (await import('../commands/doctor.ts')).doctor,
  },
  config: {
    summary: 'check a configuration file, print it with its defaults, or print its JSON Schema',
    load: async () => (await import('../commands/config.ts')).config,
  },
  completion: {
    summary: 'print what makes bash, zsh or fish complete commands and options',
    load: async () => (await import('../commands/completion.ts')).completion,
  },
};

/** Started by the launchers of the sample plugins and by services, not by people. */
export const HIDDEN: Readonly<Record<string, () => Promise<Command>>> = {
  'spawn-scripts': async () => (await import('../commands/spawn-scripts.ts')).spawnScripts,
  'sample-script': async () => (await import('../commands/sample-script.ts')).sampleScript,
};
