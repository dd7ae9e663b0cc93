// Commands that back up and restore an installation, and collect facts about it for support.

import { command, type OptionSpec } from '../command.ts';
import { ADMIN_OPTIONS, DATA, JSON_OUTPUT, QUIET } from './shared-options.ts';

const CONFIG_OF_SERVE = {
  type: 'string',
  value: 'FILE',
  path: 'file',
  otherwise: "the data directory of 'longshore up'",
  what: "the configuration file of 'longshore serve'",
} as const satisfies OptionSpec;

const POSTGRES_BIN = {
  type: 'string',
  value: 'DIR',
  path: 'directory',
  otherwise: 'those on PATH and in /usr/lib/postgresql',
  what: "with --config: the directory of PostgreSQL's programs pg_dump and pg_restore",
} as const satisfies OptionSpec;

export const BACKUP = command({
  summary: 'back up an installation while it runs',
  description: [
    "Without --config, backs up the data directory of 'longshore up'. With --config, an installation of 'longshore serve': its " +
      'databases by pg_dump, and the object store, installed files, searches and handler jobs on this machine. The command lists ' +
      'what is elsewhere, and what to do with it.',
    'Writes one file with databases, objects, installed files and configuration, in the state of one instant. The server keeps ' +
      'running. Jobs that work on sites wait until the installed files are copied. Changes of the object store wait for a ' +
      'moment, about a second for 100,000 objects.',
    'The backup contains passwords and keys, so only its owner can read the file. A file is never replaced.',
  ],
  arguments: { file: { path: 'file', what: 'the backup, such as longshore.tar, or longshore.tar.gz to compress it' } },
  options: {
    config: CONFIG_OF_SERVE,
    data: DATA,
    'postgres-bin': POSTGRES_BIN,
    timeout: {
      type: 'string',
      value: 'DURATION',
      default: '60s',
      what: 'how long to wait for running jobs on sites; after that, the command names them and makes no backup',
    },
    verify: { type: 'boolean', what: 'make no backup, but read this one to its end and check every digest' },
    json: JSON_OUTPUT,
    quiet: QUIET,
  },
  examples: [
    { run: 'backup /backup/longshore-monday.tar', what: 'backs up the default data directory' },
    { run: 'backup /backup/longshore-monday.tar --config longshore.yaml', what: "backs up 'longshore serve'" },
    { run: 'backup --verify /backup/longshore-monday.tar', what: 'checks that it can be restored' },
  ],
  exitCodes: { 1: 'no backup was made; with --verify: it is damaged' },
  load: async () => (await import('../../commands/backup.ts')).backup,
});

export const RESTORE = command({
  summary: 'restore an installation from a backup',
  description: [
    'Unpacks the backup, checks every digest, and only then moves everything to its place. The next start of longshore up ' +
      'repeats the jobs that were running at the instant of the backup, and compares all datasets with the object store.',
    'If the directory is a different one, the paths in the configuration are changed to it.',
    "With --config, restores a backup of 'longshore serve'. Each database is filled in one transaction. If the restore fails or is " +
      'interrupted, no process starts until you run it again with --force.',
  ],
  arguments: { file: { path: 'file', what: 'the backup' } },
  options: {
    config: CONFIG_OF_SERVE,
    data: DATA,
    'postgres-bin': POSTGRES_BIN,
    force: {
      type: 'boolean',
      what: 'move what is in the directory aside, into before-restore-TIME in it; schemas of databases become NAME_before_TIME',
    },
    json: JSON_OUTPUT,
    quiet: QUIET,
  },
  examples: [
    { run: 'restore /backup/longshore-monday.tar --force', what: "while 'longshore up' is stopped" },
    { run: 'restore /backup/longshore-monday.tar --config longshore.yaml', what: 'while every process is stopped' },
  ],
  exitCodes: {
    1: 'it was not restored: the backup is damaged or of a newer version, or what it replaces is in use or not empty',
  },
  load: async () => (await import('../../commands/backup.ts')).restore,
});

export const SUPPORT_BUNDLE = command({
  summary: 'collect diagnostic information for support, without secrets',
  description: [
    'Packs versions, facts about the machine, the configuration without secrets, the findings of doctor, health, metrics of the ' +
      'last 24 hours, jobs, pauses, facts about the databases, and the end of the log. Works while the server is down: missing ' +
      'parts are listed with the reason, also in the bundle.',
    'Users appear only as ids. Names and contents of datasets are left out, and so is everything that a message quotes. Nothing ' +
      'is sent anywhere.',
  ],
  arguments: {
    file: { optional: true, path: 'file', what: 'the bundle; default: longshore-support-TIME.tar.gz in this folder' },
  },
  options: {
    config: {
      type: 'string',
      value: 'FILE',
      path: 'file',
      otherwise: 'the configuration in the data directory',
      what: 'the configuration file, instead of --data; it also says where the server is',
    },
    log: {
      type: 'string',
      value: 'FILE',
      path: 'file',
      otherwise: 'the log in the data directory',
      what: "the log, where 'longshore serve' was told to write to a file",
    },
    lines: { type: 'string', value: 'N', default: '5000', what: 'how many lines of the log' },
    ...ADMIN_OPTIONS,
  },
  examples: [
    { run: 'support-bundle', what: "of 'longshore up' on this machine" },
    { run: 'support-bundle --config longshore.yaml --log longshore.log', what: "of 'longshore serve' on this machine" },
  ],
  exitCodes: { 0: 'it was written, even if parts of it are missing' },
  load: async () => (await import('../../commands/support-bundle.ts')).supportBundle,
});
