// A command as completion sees it: its options and words, from the table that the program itself parses by.

import type { Command, CommandOption } from '../command.ts';
import type { CommandEntry } from '../command-table.ts';

export interface DescribedOption extends CommandOption {
  /** Without the dashes. */
  readonly name: string;
}

export interface DescribedCommand {
  readonly name: string;
  readonly summary: string;
  /** What its first argument may be. */
  readonly words: readonly string[];
  /** Its arguments may be files. */
  readonly files: boolean;
  readonly options: readonly DescribedOption[];
}

/** Loads every command: for completion alone. */
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
