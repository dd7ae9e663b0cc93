// Runs a command in this process, as the program would: what it printed and how it ended, or what it threw.

import type { ApiError, Command, CommandIo, ExitCode } from '../../bin/cli/command.ts';
import { findCommand } from '../../bin/cli/command-table.ts';

export interface CommandResult {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

/** @param command a command, or the name of a group, whose subcommand is the first of `args` */
export async function run(
  command: Command | string,
  args: readonly string[],
  env: CommandIo['env'] = {},
  signal = new AbortController().signal,
): Promise<CommandResult> {
  let out = '';
  let err = '';
  const io: CommandIo = {
    env,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    signal,
  };
  return { code: await runWith(command, args, io), out, err };
}

async function runWith(command: Command | string, args: readonly string[], io: CommandIo): Promise<ExitCode> {
  if (typeof command !== 'string') return await command.run(args, io);
  const found = findCommand([command, ...args]);
  if (found.kind !== 'command') throw new Error(`there is no command '${command} ${args[0]}'`);
  return await (await found.spec.load()).run(found.rest, io);
}

/** Class, HTTP status and message of what the command throws. */
export async function fault(command: Command | string, args: readonly string[]): Promise<unknown[]> {
  try {
    await run(command, args);
  } catch (error) {
    if (error instanceof Error) return [error.constructor, (error as Partial<ApiError>).status, error.message];
  }
  throw new Error(`'${args.join(' ')}' did not fail`);
}
