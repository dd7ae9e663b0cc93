// `longshore completion bash|zsh|fish`: prints a shell's completion script for commands, options and their values.

import { oneOf, parse } from '../cli/arguments.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { COMMANDS } from '../cli/command-table.ts';
import { bashCompletion } from '../cli/completion/bash.ts';
import { describeCommands } from '../cli/completion/described-command.ts';
import { fishCompletion } from '../cli/completion/fish.ts';
import { zshCompletion } from '../cli/completion/zsh.ts';
import { UsageError } from '../cli/usage-error.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const WORDS = Object.keys(SHELLS) as readonly (keyof typeof SHELLS)[];

export const completion: Command = {
  name: 'completion',
  usage: 'longshore completion bash|zsh|fish',
  options: {},
  words: WORDS,
  async run(args, io) {
    const { positionals } = parse(args, {});
    const [shell, ...rest] = positionals;
    if (shell === undefined || rest.length > 0) throw new UsageError(`expected one of ${WORDS.join(', ')}`);
    io.out(SHELLS[oneOf('', shell, WORDS)](await describeCommands(COMMANDS)));
    return EXIT.ok;
  },
};
