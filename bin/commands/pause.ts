// `longshore pause` and `longshore resume`: a paused lane, plugin or install target does no new work until it is resumed.

import type { PauseKind } from '../../engine/ports/pauses.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { durationOf, implement } from '../cli/arguments.ts';
import type { ReportedPause } from '../cli/client/admin-reports.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import {
  PAUSE_LANE,
  PAUSE_LIST,
  PAUSE_PLUGIN,
  PAUSE_TARGET,
  RESUME_LANE,
  RESUME_PLUGIN,
  RESUME_TARGET,
} from '../cli/tree/pauses.ts';

const pause = (spec: typeof PAUSE_LANE, kind: PauseKind): Command =>
  implement(spec, async ({ values, args: { name } }, io) => {
    const until = values.for === undefined ? undefined : endOf(values.for);
    const order = { ...(values.reason === undefined ? {} : { reason: values.reason }), ...(until ? { until } : {}) };
    const paused = await (await openAdminClient(values, io)).pause({ kind, name }, order, io.signal);
    io.out(values.json ? jsonLine(paused) : `${describe(paused)}\n`);
    return EXIT.ok;
  });

export const PAUSES: Readonly<Record<PauseKind, Command>> = {
  lane: pause(PAUSE_LANE, 'lane'),
  plugin: pause(PAUSE_PLUGIN, 'plugin'),
  target: pause(PAUSE_TARGET, 'target'),
};

export const list: Command = implement(PAUSE_LIST, async ({ values }, io) => {
  const pauses = await (await openAdminClient(values, io)).pauses(io.signal);
  io.out(values.json ? jsonDocument(pauses) : table(COLUMNS, pauses.map(row), io.outTerminal));
  return EXIT.ok;
});

const resume = (spec: typeof RESUME_LANE, kind: PauseKind): Command =>
  implement(spec, async ({ values, args: { name } }, io) => {
    await (await openAdminClient(values, io)).resume({ kind, name }, io.signal);
    io.out(values.json ? jsonLine({ kind, name, paused: false }) : `${kind} ${name} is not paused any more\n`);
    return EXIT.ok;
  });

export const RESUMES: Readonly<Record<PauseKind, Command>> = {
  lane: resume(RESUME_LANE, 'lane'),
  plugin: resume(RESUME_PLUGIN, 'plugin'),
  target: resume(RESUME_TARGET, 'target'),
};

const endOf = (text: string): string => new Date(systemClock.now() + durationOf('for', text)).toISOString();

const COLUMNS = [
  { head: 'kind', whole: true },
  { head: 'name', whole: true },
  { head: 'since', whole: true },
  { head: 'by', whole: true },
  { head: 'until', whole: true },
  { head: 'reason' },
] as const;

const row = ({ kind, name, since, by, until, reason }: ReportedPause) =>
  [kind, name, since, by, until ?? '', reason ?? ''] as const;

const describe = ({ kind, name, by, since, until }: ReportedPause): string =>
  `${kind} ${name} is paused by ${by} since ${since}${until === undefined ? '' : ` until ${until}`}`;
