// A command as completion sees it: options and keywords, from the table that the program itself parses with.

import type { Command, CommandOption } from '../command.ts';
import type { CommandEntry } from '../command-table.ts';

export interface DescribedOption extends CommandOption {
  /** Without the dashes. */
  readonly name: string;
}

export interface DescribedCommand {
  readonly name: string;
  readonly summary: string;
  /** Allowed values of the first argument. */
  readonly words: readonly string[];
  /** Arguments may be files. */
  readonly files: boolean;
  readonly options: readonly DescribedOption[];
}

/** Loads every command; used by completion only. */
export async function describeCommands(
  table: Readonly<Record<string, CommandEntry>>,
): Promise<readonly DescribedCommand[]> {
  return await Promise.all(
    Object.entries(table).map(async ([name, { summary, load }]) => describe(name, summary, await load())),
  );
}

function describe(name: string, summary: string, { words = [], files = false, options }: Command): DescribedCommand {
  const named = Object.entries(options).map(([option, about]) => ({ name: option, ...about }));
  return { name, summary, words, files, options: [...named, { name: 'help', type: 'boolean' }] };
}
