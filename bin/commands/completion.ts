// `longshore completion bash|zsh|fish`: prints a shell's completion script for commands, options and their values.

import { oneOf, parse } from '../cli/arguments.ts';
import { type Command, type CommandOption, EXIT, UsageError } from '../cli/command.ts';
import { COMMANDS, type CommandEntry } from '../cli/command-table.ts';

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

// A command as completion sees it: options and keywords, from the table that the program itself parses with.

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

/** Completion for bash: one function that inspects the words of the line. */
export function bashCompletion(commands: readonly DescribedCommand[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options
      .filter(({ type }) => type === 'string')
      .map((option) => `    ${name}:--${option.name}) ${bashValue(option)} ;;`),
  );
  const known = commands.map(({ name, words, files, options }) => {
    const flags = options.map((option) => `--${option.name}`).join(' ');
    return `    ${name}) options='${flags}' words='${words.join(' ')}' files=${files ? 1 : 0} ;;`;
  });
  return `# Completion of longshore for bash: source <(longshore completion bash)
_longshore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local options= words= files=0
  COMPREPLY=()
  # bash takes the = of --option=value for a word of its own.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    _longshore_words '${commands.map(({ name }) => name).join(' ')} --help --version'
    return
  fi
  case $command:$prev in
${values.join('\n')}
  esac
  case $command in
${known.join('\n')}
  esac
  if [[ $cur == -* ]]; then _longshore_words "$options"
  elif ((COMP_CWORD == 2)) && [[ -n $words ]]; then _longshore_words "$words"
  elif ((files)); then COMPREPLY=()
  else _longshore_words ''
  fi
}
# Nothing but these words: where they do not fit, no file is offered instead.
_longshore_words() {
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
complete -o default -F _longshore longshore
`;
}

/** Where we offer nothing, bash offers files by default. */
function bashValue({ values, path }: DescribedOption): string {
  if (path === 'directory') return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); return';
  return path === 'file' ? 'return' : `_longshore_words '${(values ?? []).join(' ')}'; return`;
}

/** Completion for fish: one line per word and option. */
export function fishCompletion(commands: readonly DescribedCommand[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary, words, files, options } = command;
    const seen = `-n ${fishQuoted(`__fish_seen_subcommand_from ${name}`)}`;
    const none = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words.join(' ')}`;
    return [
      `complete -c longshore -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...(words.length > 0 ? [`complete -c longshore -n ${fishQuoted(none)} -a ${fishQuoted(words.join(' '))}`] : []),
      ...(files ? [`complete -c longshore ${seen} -F`] : []),
      ...options.map((option) => `complete -c longshore ${seen} -l ${option.name}${value(option)}`),
    ];
  });
  return `# Completion of longshore for fish: longshore completion fish | source
complete -c longshore -f
${lines.join('\n')}
`;
}

function value({ type, values, path }: DescribedOption): string {
  if (type === 'boolean') return '';
  if (path === 'directory') return " -x -a '(__fish_complete_directories)'";
  if (path === 'file') return ' -r -F';
  return values ? ` -x -a ${fishQuoted(values.join(' '))}` : ' -x';
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Completion for zsh: passes each command's words to _arguments. */
export function zshCompletion(commands: readonly DescribedCommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${zshQuoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, words, files, options }) => {
    const specs = [
      ...options.map(option),
      ...(words.length > 0 ? [zshQuoted(`1:word:(${words.join(' ')})`)] : []),
      ...(files ? [zshQuoted('*:file:_files')] : []),
    ];
    return `    ${name}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef longshore
# Completion of longshore for zsh: source <(longshore completion zsh), or a file _longshore in a folder of $fpath.
_longshore() {
  local -a known
  known=(
${described.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe -t commands command known
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _longshore ]]; then _longshore "$@"; else compdef _longshore longshore; fi
`;
}

function option({ name, type, multiple, values, path }: DescribedOption): string {
  const again = multiple ? '*' : '';
  if (type === 'boolean') return zshQuoted(`${again}--${name}`);
  const action =
    path === 'directory' ? '_files -/' : path === 'file' ? '_files' : values ? `(${values.join(' ')})` : ' ';
  return zshQuoted(`${again}--${name}=:${name}:${action}`);
}

const zshQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
