// The command tree: every command by name, with what help, shell completion, man pages and docs/commands.md say of it. Commands
// themselves are loaded on demand, so that help does not wait for a web server's libraries.

import type { CommandEntry, CommandGroup, CommandSpec } from './command.ts';
import { COMPLETION, HELP, VERSION } from './tree/about.ts';
import { AUDIT, HISTORY, JOBS, LOG_LEVEL, PRUNE, RECONCILE, RELOAD, TOP } from './tree/administration.ts';
import { BACKUP, RESTORE, SUPPORT_BUNDLE } from './tree/backups.ts';
import { DATASETS, UPLOAD, WATCH } from './tree/datasets.ts';
import { ACCESS, CONFIG_GROUP, DOCTOR, MIGRATE, MIGRATE_TARGET, QUERY, TOKEN } from './tree/machine.ts';
import { CANCEL, PAUSE, RESUME } from './tree/pauses.ts';
import { DISCARD, PROBLEMS, RETRY } from './tree/problems.ts';
import { PLUGIN, SERVE, UP } from './tree/servers.ts';

export interface CommandSection {
  readonly title: string;
  readonly commands: Readonly<Record<string, CommandEntry>>;
}

/** In the order in which help lists them. */
export const SECTIONS: readonly CommandSection[] = [
  { title: 'Servers', commands: { up: UP, serve: SERVE, plugin: PLUGIN } },
  { title: 'Datasets', commands: { upload: UPLOAD, watch: WATCH, datasets: DATASETS } },
  {
    title: 'Administration of a running server',
    commands: {
      top: TOP,
      jobs: JOBS,
      problems: PROBLEMS,
      retry: RETRY,
      discard: DISCARD,
      cancel: CANCEL,
      history: HISTORY,
      pause: PAUSE,
      resume: RESUME,
      reconcile: RECONCILE,
      prune: PRUNE,
      reload: RELOAD,
      'log-level': LOG_LEVEL,
      audit: AUDIT,
      backup: BACKUP,
      restore: RESTORE,
      'support-bundle': SUPPORT_BUNDLE,
    },
  },
  {
    title: 'Configuration and databases',
    commands: {
      config: CONFIG_GROUP,
      doctor: DOCTOR,
      migrate: MIGRATE,
      'migrate-target': MIGRATE_TARGET,
      token: TOKEN,
      access: ACCESS,
      query: QUERY,
    },
  },
  { title: 'This program', commands: { help: HELP, version: VERSION, completion: COMPLETION } },
];

export const COMMANDS: Readonly<Record<string, CommandEntry>> = Object.assign(
  {},
  ...SECTIONS.map(({ commands }) => commands),
);

export const isGroup = (entry: CommandEntry): entry is CommandGroup => 'commands' in entry;

/** A command with its whole name, such as `datasets show`. */
export interface NamedCommand {
  readonly name: string;
  readonly spec: CommandSpec;
}

/** Every command that runs, in the order of help; groups are replaced by their subcommands. */
export function allCommands(): readonly NamedCommand[] {
  return Object.entries(COMMANDS).flatMap(([name, entry]) =>
    isGroup(entry)
      ? Object.entries(entry.commands).map(([word, spec]) => ({ name: `${name} ${word}`, spec }))
      : [{ name, spec: entry }],
  );
}

export type Found =
  | (NamedCommand & { readonly kind: 'command'; readonly rest: readonly string[] })
  | { readonly kind: 'group'; readonly name: string; readonly group: CommandGroup; readonly rest: readonly string[] }
  | { readonly kind: 'unknown'; readonly rest: readonly string[] };

/** Finds the command that a command line begins with. */
export function findCommand([first = '', ...rest]: readonly string[]): Found {
  const entry = ownOf(COMMANDS, first);
  if (!entry) return { kind: 'unknown', rest: [first, ...rest] };
  if (!isGroup(entry)) return { kind: 'command', name: first, spec: entry, rest };
  const [word = '', ...after] = rest;
  const spec = ownOf(entry.commands, word);
  if (!spec) return { kind: 'group', name: first, group: entry, rest };
  return { kind: 'command', name: `${first} ${word}`, spec, rest: after };
}

const ownOf = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
