// Commands that pause and resume a lane, a plugin or an install target, and cancel a running job.

import type { PauseKind } from '../../../engine/ports/pauses.ts';
import { command } from '../command.ts';
import { ADMIN_OPTIONS } from './shared-options.ts';

const REASON = { type: 'string', value: 'TEXT', otherwise: 'none', what: 'why, for other operators' } as const;

/** What is paused, and an example of its name. */
const PLACES = {
  lane: { what: 'the name of a lane, such as install', name: 'install' },
  plugin: { what: 'the name of a plugin in the configuration', name: 'genelist' },
  target: { what: 'the id of an install target', name: 'SiteA' },
} as const satisfies Record<PauseKind, object>;

const pauseOf = (kind: PauseKind, summary: string) =>
  command({
    summary,
    description: ['Running jobs finish. The pause applies to all processes and survives restarts.'],
    arguments: { name: { what: PLACES[kind].what } },
    options: {
      for: {
        type: 'string',
        value: 'DURATION',
        otherwise: 'until it is resumed',
        what: 'how long, such as 30m or 2h',
      },
      reason: REASON,
      ...ADMIN_OPTIONS,
    },
    examples: [
      {
        run: `pause ${kind} ${PLACES[kind].name} --for 2h --reason maintenance`,
        what: 'resumes by itself after two hours',
      },
    ],
    load: async () => (await import('../../commands/pause.ts')).PAUSES[kind],
  });

export const PAUSE_LANE = pauseOf('lane', 'start no more jobs of a lane');
export const PAUSE_PLUGIN = pauseOf('plugin', 'do not call a plugin');
export const PAUSE_TARGET = pauseOf('target', 'change nothing on an install target');

export const PAUSE_LIST = command({
  summary: 'list what is paused, since when and by whom',
  arguments: {},
  options: ADMIN_OPTIONS,
  examples: [{ run: 'pause list', what: 'shows all pauses' }],
  load: async () => (await import('../../commands/pause.ts')).list,
});

const resumeOf = (kind: PauseKind, summary: string) =>
  command({
    summary,
    arguments: { name: { what: PLACES[kind].what } },
    options: ADMIN_OPTIONS,
    examples: [{ run: `resume ${kind} ${PLACES[kind].name}`, what: 'what waited is due at once, in order' }],
    load: async () => (await import('../../commands/pause.ts')).RESUMES[kind],
  });

export const RESUME_LANE = resumeOf('lane', 'start jobs of a lane again');
export const RESUME_PLUGIN = resumeOf('plugin', 'call a plugin again');
export const RESUME_TARGET = resumeOf('target', 'change an install target again');

export const PAUSE = {
  summary: 'pause a lane, a plugin or an install target',
  commands: { lane: PAUSE_LANE, plugin: PAUSE_PLUGIN, target: PAUSE_TARGET, list: PAUSE_LIST },
} as const;

export const RESUME = {
  summary: 'end a pause',
  commands: { lane: RESUME_LANE, plugin: RESUME_PLUGIN, target: RESUME_TARGET },
} as const;

export const CANCEL = command({
  summary: 'end a running job',
  description: [
    'Its scripts get SIGTERM, and are killed after ten seconds. The job is then dead, and runs again only when it is retried.',
  ],
  arguments: { job: { what: "the job's id, as 'longshore jobs' lists it" } },
  options: {
    hard: { type: 'boolean', what: 'kill its script or thread at once' },
    reason: REASON,
    ...ADMIN_OPTIONS,
  },
  examples: [{ run: 'cancel 17 --reason "wrong file"', what: 'ends job 17' }],
  load: async () => (await import('../../commands/cancel.ts')).cancel,
});
