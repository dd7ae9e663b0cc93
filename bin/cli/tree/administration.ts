// Commands of administrators of a running server.

import { AUDIT_OUTCOMES } from '../../../engine/model/audit.ts';
import { LANES } from '../../../engine/model/event.ts';
import { LOG_LEVELS } from '../../../engine/model/log-level.ts';
import { JOB_STATES } from '../../../engine/ports/jobs.ts';
import { command } from '../command.ts';
import { ADMIN_OPTIONS } from './shared-options.ts';

export const TOP = command({
  summary: 'show lanes, workers, daemons and dependencies live',
  description: [
    'Redraws the screen until q or Ctrl-C. Without a terminal, use --once, or --json for one document per interval. ' +
      'Without an administrator token, the oldest jobs are not shown.',
  ],
  arguments: {},
  options: {
    once: { type: 'boolean', what: 'print the state once, and end' },
    interval: { type: 'string', value: 'SECONDS', default: '2', what: 'time between two readings, from 0.1 to 3600' },
    ...ADMIN_OPTIONS,
  },
  examples: [
    { run: 'top', what: "watches the server of 'longshore up'" },
    { run: 'top --server http://127.0.0.1:8080 --once --json', what: 'prints one JSON document' },
  ],
  load: async () => (await import('../../commands/top.ts')).top,
});

export const JOBS = command({
  summary: 'show the jobs of the lanes',
  description: ['Prints how many jobs each lane has, then the jobs, oldest first, up to 1000.'],
  arguments: {},
  options: {
    lane: { type: 'string', value: 'LANE', values: LANES, otherwise: 'all lanes', what: 'only jobs of this lane' },
    state: {
      type: 'string',
      value: 'STATE',
      values: JOB_STATES,
      otherwise: 'all states',
      what: 'only jobs in this state',
    },
    ...ADMIN_OPTIONS,
  },
  examples: [{ run: 'jobs --state dead', what: 'lists the jobs that have failed for good' }],
  load: async () => (await import('../../commands/jobs.ts')).jobs,
});

export const HISTORY = command({
  summary: 'show what was tried with a dataset, and how it ended',
  description: [
    'Prints each attempt of each lane with what scripts printed, and each request that changed the dataset. ' +
      'It works for datasets that are gone, too. With --json, one document per line.',
  ],
  arguments: { dataset: { what: "the dataset's id" } },
  options: {
    'newest-first': { type: 'boolean', what: 'begin with the newest entry' },
    limit: { type: 'string', value: 'N', otherwise: 'all', what: 'print at most this many entries' },
    ...ADMIN_OPTIONS,
  },
  examples: [{ run: 'history 3kQ9Zr1aXb7c8d9e --newest-first --limit 5', what: 'shows what happened last' }],
  load: async () => (await import('../../commands/history.ts')).history,
});

export const RECONCILE = command({
  summary: 'compare all datasets with the object store now',
  arguments: {},
  options: {
    'allow-deletes': {
      type: 'boolean',
      what: 'delete what is absent from the store, even if the brake on deletions would stop that',
    },
    wait: { type: 'boolean', what: 'wait for the end of the run, and print what it found' },
    ...ADMIN_OPTIONS,
  },
  examples: [{ run: 'reconcile --wait', what: 'runs it, and prints what was repaired' }],
  exitCodes: { 1: 'it failed; with --wait: the run ended early, or deletions were withheld' },
  load: async () => (await import('../../commands/reconcile.ts')).reconcile,
});

export const PRUNE = command({
  summary: 'permanently remove datasets that were deleted long enough ago',
  arguments: {},
  options: {
    'age-cutoff': {
      type: 'string',
      value: 'DURATION|DATE',
      otherwise: 'installer.daemons.pruner.retentionWindow of the configuration',
      what: 'remove what was deleted longer ago than 30d, or before 2026-01-31',
    },
    wait: { type: 'boolean', what: 'wait for the end of the run, and print what it removed' },
    ...ADMIN_OPTIONS,
  },
  examples: [{ run: 'prune --age-cutoff 90d --wait', what: 'removes what was deleted more than 90 days ago' }],
  exitCodes: { 1: 'it failed; with --wait: the run ended early, or some datasets could not be removed' },
  load: async () => (await import('../../commands/reconcile.ts')).prune,
});

export const RELOAD = command({
  summary: 'reload the settings that may change while a server runs',
  description: ['Prints what was applied, and what needs a restart. A file with errors changes nothing.'],
  arguments: {},
  options: ADMIN_OPTIONS,
  examples: [{ run: 'reload --server http://127.0.0.1:8080', what: 'with LONGSHORE_ADMIN_TOKEN in the environment' }],
  exitCodes: { 3: "the server's configuration file has errors; nothing was changed" },
  load: async () => (await import('../../commands/reload.ts')).reload,
});

export const LOG_LEVEL = command({
  summary: 'show or change the log level of a running server',
  description: ['A change lasts until the next reload or restart.'],
  arguments: { level: { optional: true, values: LOG_LEVELS, what: 'the new level; without it, the level is shown' } },
  options: ADMIN_OPTIONS,
  examples: [
    { run: 'log-level', what: 'shows the level' },
    { run: 'log-level debug', what: 'logs more, until the next reload' },
  ],
  load: async () => (await import('../../commands/reload.ts')).logLevel,
});

export const AUDIT_FILTERS = {
  from: {
    type: 'string',
    value: 'TIME',
    otherwise: 'the beginning',
    what: 'only from this time on, in UTC, such as 2026-01-31T12',
  },
  to: { type: 'string', value: 'TIME', otherwise: 'now', what: 'only before this time, in UTC' },
  actor: { type: 'string', value: 'ID', otherwise: 'all', what: 'a user id, or the name of a machine token' },
  dataset: { type: 'string', value: 'ID', otherwise: 'all', what: 'only requests for this dataset' },
  route: { type: 'string', value: 'PATTERN', otherwise: 'all', what: 'only this route, such as /datasets/:id' },
  outcome: {
    type: 'string',
    value: 'WORD',
    values: AUDIT_OUTCOMES,
    otherwise: 'all',
    what: 'only requests that ended like this',
  },
} as const;

export const AUDIT_EXPORT = command({
  summary: 'print the audit trail as JSON lines, oldest first',
  arguments: {},
  options: { ...AUDIT_FILTERS, ...ADMIN_OPTIONS },
  examples: [
    { run: 'audit export --from 2026-01-01 --outcome refused', what: 'prints what was refused since January' },
  ],
  load: async () => (await import('../../commands/audit.ts')).exportAudit,
});

export const AUDIT = { summary: 'export the audit trail', commands: { export: AUDIT_EXPORT } } as const;
