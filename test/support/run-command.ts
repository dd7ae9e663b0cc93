// Runs a command in this process, as the program would: what it printed and how it ended, or what it threw.

import type { ApiError, Command, CommandIo, ExitCode } from '../../bin/cli/command.ts';

export interface CommandResult {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

export async function run(
  command: Command,
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
  return { code: await command.run(args, io), out, err };
}

/** Class, HTTP status and message of what the command throws. */
export async function fault(command: Command, args: readonly string[]): Promise<unknown[]> {
  try {
    await run(command, args);
  } catch (error) {
    if (error instanceof Error) return [error.constructor, (error as Partial<ApiError>).status, error.message];
  }
  throw new Error(`${command.name} ${args.join(' ')} did not fail`);
}
