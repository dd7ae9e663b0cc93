// Commands for what failed for good: list it, retry it, discard it.

import { PROBLEM_LANES, PROBLEM_STATES } from '../../../engine/ports/problems.ts';
import { command } from '../command.ts';
import { ADMIN_OPTIONS } from './shared-options.ts';

const PROBLEM_FILTERS = {
  lane: {
    type: 'string',
    value: 'LANE',
    values: PROBLEM_LANES,
    otherwise: 'all lanes',
    what: 'only problems of this lane or service',
  },
  state: {
    type: 'string',
    value: 'STATE',
    values: PROBLEM_STATES,
    otherwise: 'all but delayed',
    what: 'only problems in this state',
  },
  plugin: { type: 'string', value: 'NAME', otherwise: 'all', what: 'only datasets of this plugin' },
  type: { type: 'string', value: 'NAME[@VERSION]', otherwise: 'all', what: 'only datasets of this type' },
  target: { type: 'string', value: 'ID', otherwise: 'all', what: 'only installs on this install target' },
  owner: { type: 'string', value: 'USER', otherwise: 'all', what: 'only datasets of this user' },
  dataset: { type: 'string', value: 'ID', otherwise: 'all', what: 'only this dataset' },
  contains: { type: 'string', value: 'TEXT', otherwise: 'all', what: 'only messages that contain this text' },
  cause: { type: 'string', value: 'TEXT', otherwise: 'all', what: "only this cause, as 'problems --causes' prints it" },
  'older-than': {
    type: 'string',
    value: 'DURATION',
    otherwise: 'any age',
    what: 'only what failed longer ago than this, such as 2h',
  },
  'newer-than': {
    type: 'string',
    value: 'DURATION',
    otherwise: 'any age',
    what: 'only what failed within this time, such as 2h',
  },
} as const;

const ORDER_OPTIONS = {
  ...PROBLEM_FILTERS,
  all: { type: 'boolean', what: 'all problems; required if nothing else narrows the selection' },
  'dry-run': { type: 'boolean', what: 'only count what it would act on' },
  yes: { type: 'boolean', what: 'do not ask, even at a terminal' },
} as const;

const IDS = {
  id: { many: true, optional: true, what: "ids of problems, as 'longshore problems' lists them" },
} as const;

const SELECTION =
  'Acts on the named problems, or on all that match the options. At a terminal, it counts what the options select, and asks ' +
  'before it changes more than one. Prints the counts by lane. Problems that are left alone are counted with the reason.';

export const PROBLEMS = command({
  summary: 'list what failed for good and waits for a person',
  description: [
    'Prints up to 1000 problems, oldest first. With --causes, prints how many problems have each of up to 200 causes.',
  ],
  arguments: {},
  options: {
    ...PROBLEM_FILTERS,
    causes: { type: 'boolean', what: 'group them by cause, the most frequent first' },
    ...ADMIN_OPTIONS,
  },
  examples: [
    { run: 'problems --causes', what: 'says what is wrong, and how often' },
    { run: 'problems --lane import --newer-than 1h', what: 'lists imports that failed within the last hour' },
  ],
  load: async () => (await import('../../commands/problems.ts')).problems,
});

export const RETRY = command({
  summary: 'retry what failed, one by one or by query',
  description: [SELECTION, 'A number is the id of a job, which may be delayed or dead.'],
  arguments: { id: { ...IDS.id, what: "ids of problems, as 'longshore problems' lists them, or of jobs" } },
  options: { ...ORDER_OPTIONS, ...ADMIN_OPTIONS },
  examples: [
    { run: 'retry import:0VbfWYbontYX1Se4', what: 'imports that dataset again' },
    { run: "retry --cause 'no space left on device' --dry-run", what: 'counts what has this cause' },
    { run: 'retry 17', what: 'runs job 17 as soon as a worker is free' },
  ],
  load: async () => (await import('../../commands/problems.ts')).retry,
});

export const DISCARD = command({
  summary: 'discard what failed, so that it is not listed any more',
  description: [
    SELECTION,
    'What is discarded is not repeated by itself, until something new happens: an upload, an edit, or a retry.',
  ],
  arguments: IDS,
  options: {
    reason: { type: 'string', value: 'TEXT', required: true, what: 'why; it is kept' },
    ...ORDER_OPTIONS,
    ...ADMIN_OPTIONS,
  },
  examples: [
    {
      run: "discard --type rnaseq --older-than 90d --reason 'type is retired'",
      what: 'clears the list of old failures',
    },
  ],
  load: async () => (await import('../../commands/problems.ts')).discard,
});
