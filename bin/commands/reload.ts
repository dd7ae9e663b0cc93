// `longshore reload`: makes a running server apply the changes of its configuration file that need no restart.

import type { ReloadReport } from '../../engine/ports/process-control.ts';
import { implement } from '../cli/arguments.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { ApiError, type Command, EXIT } from '../cli/command.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import { LOG_LEVEL, RELOAD } from '../cli/tree/administration.ts';

const INVALID_INPUT = 422;

export const reload: Command = implement(RELOAD, async ({ values }, io) => {
  const client = await openAdminClient(values, io);
  let report: ReloadReport;
  try {
    report = await client.reload(io.signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== INVALID_INPUT) throw error;
    io.err(`longshore reload: ${error.message}\n`);
    return EXIT.configuration;
  }
  if (values.json) io.out(jsonDocument(report));
  else {
    io.out(table([{ head: 'setting', whole: true }, { head: 'change' }], rowsOf(report), io.outTerminal));
    io.out(`${report.unchanged} settings unchanged\n`);
  }
  return EXIT.ok;
});

const rowsOf = ({ applied, needsRestart }: ReloadReport): readonly (readonly string[])[] => [
  ...applied.map(({ path, from, to }) => [path, `${from} -> ${to}`]),
  ...needsRestart.map(({ path }) => [path, 'needs a restart']),
];

/** `longshore log-level [LEVEL]`: shows the log level of a running server, or changes it until the next reload. */
export const logLevel: Command = implement(LOG_LEVEL, async ({ values, args: { level } }, io) => {
  const client = await openAdminClient(values, io);
  if (level === undefined) {
    const current = await client.logLevel(io.signal);
    io.out(values.json ? jsonLine(current) : `${current.level}\n`);
    return EXIT.ok;
  }
  const changed = await client.setLogLevel(level, io.signal);
  io.out(values.json ? jsonLine(changed) : `log level ${changed.from} -> ${changed.to}\n`);
  return EXIT.ok;
});
