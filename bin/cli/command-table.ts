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
    summary: 'run the services of a configuration file',
    hidesEnvironment: true,
    load: async () => (await import('../commands/serve.ts')).serve,
  },
  plugin: {
    summary: 'run the plugin host of one plugin',
    hidesEnvironment: true,
    load: async () => (await import('../commands/plugin.ts')).plugin,
  },
  migrate: {
    summary: 'migrate the cache database and those of the report and access services',
    load: async () => (await import('../commands/migrate.ts')).migrateCommand,
  },
  'migrate-target': {
    summary: "migrate an install target's control schema",
    load: async () => (await import('../commands/migrate.ts')).migrateTargetCommand,
  },
  token: {
    summary: 'print a bearer token from the local issuer',
    load: async () => (await import('../commands/token.ts')).token,
  },
  upload: {
    summary: 'upload files as a new dataset',
    load: async () => (await import('../commands/upload.ts')).upload,
  },
  watch: {
    summary: 'follow a dataset until it is installed or has failed',
    load: async () => (await import('../commands/upload.ts')).watch,
  },
  datasets: {
    summary: 'list, show, download, revise, delete or share datasets',
    load: async () => (await import('../commands/datasets.ts')).datasets,
  },
  jobs: {
    summary: 'show the jobs of the lanes (administrators)',
    load: async () => (await import('../commands/jobs.ts')).jobs,
  },
  top: {
    summary: 'show lanes, workers, daemons and dependencies live',
    load: async () => (await import('../commands/top.ts')).top,
  },
  retry: {
    summary: 'retry a delayed or dead job (administrators)',
    load: async () => (await import('../commands/jobs.ts')).retry,
  },
  reconcile: {
    summary: 'compare all datasets with the object store now (administrators)',
    load: async () => (await import('../commands/reconcile.ts')).reconcile,
  },
  prune: {
    summary: 'permanently remove datasets deleted long enough ago (administrators)',
    load: async () => (await import('../commands/reconcile.ts')).prune,
  },
  reload: {
    summary: 'reload the changeable settings of a running server (administrators)',
    load: async () => (await import('../commands/reload.ts')).reload,
  },
  'log-level': {
    summary: 'temporarily change the log level of a running server (administrators)',
    load: async () => (await import('../commands/reload.ts')).logLevel,
  },
  audit: {
    summary: 'print the audit trail as JSON lines (administrators)',
    load: async () => (await import('../commands/audit.ts')).audit,
  },
  access: {
    summary: "import curated datasets, or list the mails that 'up' stores as files",
    load: async () => (await import('../commands/access.ts')).access,
  },
  query: {
    summary: 'run a BLAST+ search for use in reports',
    load: async () => (await import('../commands/query.ts')).query,
  },
  doctor: {
    summary: 'check every dependency of a configuration file and say how to fix problems',
    load: async () => (await import('../commands/doctor.ts')).doctor,
  },
  config: {
    summary: 'check a configuration file, print it with its defaults, or print its JSON Schema',
    load: async () => (await import('../commands/config.ts')).config,
  },
  completion: {
    summary: 'print the completion script for bash, zsh or fish',
    load: async () => (await import('../commands/completion.ts')).completion,
  },
};

/** Started by services and by the launchers of the sample plugins, not by people. */
export const HIDDEN: Readonly<Record<string, () => Promise<Command>>> = {
  'spawn-scripts': async () => (await import('../commands/spawn-scripts.ts')).spawnScripts,
  'sample-script': async () => (await import('../commands/sample-script.ts')).sampleScript,
  'sample-scripts': async () => (await import('../commands/sample-script.ts')).sampleScripts,
};
