// `longshore help` and `longshore version`.

import { implement, suggestion } from '../cli/arguments.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';
import { allCommands, COMMANDS } from '../cli/command-table.ts';
import { helpFor } from '../cli/help.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { HELP, VERSION } from '../cli/tree/about.ts';
import { builtVersion, versionText } from '../cli/version.ts';

export const help: Command = implement(HELP, async ({ args: { command } }, io) => {
  const text = helpFor(command);
  if (text === undefined) {
    const name = command.join(' ');
    const known = [...Object.keys(COMMANDS), ...allCommands().map((one) => one.name)];
    throw new UsageError(`there is no command '${name}'${suggestion(name, known)}`);
  }
  io.out(text);
  return EXIT.ok;
});

export const version: Command = implement(VERSION, async ({ values }, io) => {
  const built = await builtVersion();
  io.out(values.json ? jsonLine(built) : `${versionText(built)}\n`);
  return EXIT.ok;
});
