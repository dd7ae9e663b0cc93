// `longshore log-level [LEVEL]`: changes the log level of a running server until its configuration is reloaded.

import { LOG_LEVELS, type LogLevel } from '../../engine/model/log-level.ts';
import { parse } from '../cli/arguments.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/admin-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { jsonLine } from '../cli/terminal/json-text.ts';
import { UsageError } from '../cli/usage-error.ts';

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
