// `longshore reload`: makes a running server apply the changes of its configuration file that need no restart.

import { LOG_LEVELS, type LogLevel } from '../../engine/model/log-level.ts';
import type { ReloadReport } from '../../engine/ports/process-control.ts';
import { parse, parseOptions } from '../cli/arguments.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/client-options.ts';
import { ApiError, type Command, EXIT, UsageError } from '../cli/command.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';

const INVALID_INPUT = 422;

export const reload: Command = {
  name: 'reload',
  usage: `longshore reload  ${ADMIN_USAGE}`,
  options: ADMIN_OPTIONS,
  async run(args, io) {
    const values = parseOptions('reload', args, ADMIN_OPTIONS);
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
  },
};

const rowsOf = ({ applied, needsRestart }: ReloadReport): readonly (readonly string[])[] => [
  ...applied.map(({ path, from, to }) => [path, `${from} -> ${to}`]),
  ...needsRestart.map(({ path }) => [path, 'needs a restart']),
];

/** `longshore log-level [LEVEL]`: changes the log level of a running server until its configuration is reloaded. */
export const logLevel: Command = {
  name: 'log-level',
  usage: `longshore log-level [${LOG_LEVELS.join('|')}]  ${ADMIN_USAGE}`,
  options: ADMIN_OPTIONS,
  words: LOG_LEVELS,
  async run(args, io) {
    const { values, positionals } = parse(args, ADMIN_OPTIONS);
    const level = levelOf(positionals);
    const changed = await (await openAdminClient(values, io)).setLogLevel(level, io.signal);
    io.out(values.json ? jsonLine(changed) : `log level ${changed.from} -> ${changed.to}\n`);
    return EXIT.ok;
  },
};

/** Undefined: the server picks the next level. */
function levelOf([text, ...more]: readonly string[]): LogLevel | undefined {
  const level = LOG_LEVELS.find((one) => one === text);
  if (more.length > 0 || (text !== undefined && level === undefined))
    throw new UsageError(`expected at most one level: ${LOG_LEVELS.join(', ')}`);
  return level;
}
