// `longshore completion bash|zsh|fish`: prints a shell's completion script for commands, options and their values. The scripts
// are made of the command tree, which the program itself parses with.

import { argumentName, implement } from '../cli/arguments.ts';
import {
  type ArgumentSpec,
  type Command,
  type CommandGroup,
  type CommandSpec,
  EXIT,
  type OptionSpec,
} from '../cli/command.ts';
import { allCommands, COMMANDS, isGroup, type NamedCommand } from '../cli/command-table.ts';
import { COMPLETION } from '../cli/tree/about.ts';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export const completion: Command = implement(COMPLETION, async ({ args: { shell } }, io) => {
  io.out(SCRIPTS[shell]());
  return EXIT.ok;
});

const HELP_FLAG: OptionSpec = { type: 'boolean', what: 'show help' };

const optionsOf = ({ options }: CommandSpec): readonly (readonly [name: string, option: OptionSpec])[] => [
  ...Object.entries(options),
  ['help', HELP_FLAG],
];
const argumentsOf = (spec: CommandSpec): readonly ArgumentSpec[] => Object.values(spec.arguments);
/** Allowed values of the first argument. */
const wordsOf = (spec: CommandSpec): readonly string[] => argumentsOf(spec)[0]?.values ?? [];
const takesFiles = (spec: CommandSpec): boolean => argumentsOf(spec).some(({ path }) => path !== undefined);
const groups = (): readonly (readonly [name: string, group: CommandGroup])[] =>
  Object.entries(COMMANDS).flatMap(([name, entry]) => (isGroup(entry) ? [[name, entry] as const] : []));
const topWords = (): string => [...Object.keys(COMMANDS), '--help', '--version'].join(' ');

/** Completion for bash: one function that inspects the words of the line. */
export function bashCompletion(): string {
  const subcommands = groups().map(
    ([name, { commands }]) => `    ${name}) subcommands='${Object.keys(commands).join(' ')}' ;;`,
  );
  const values = allCommands().flatMap(({ name, spec }) =>
    optionsOf(spec).flatMap(([option, about]) =>
      about.type === 'string' ? [`    '${name}:--${option}') ${bashValue(about)} ;;`] : [],
    ),
  );
  const known = allCommands().map(({ name, spec }) => {
    const flags = optionsOf(spec).map(([option]) => `--${option}`);
    const files = takesFiles(spec) ? 1 : 0;
    return `    '${name}') options='${flags.join(' ')}' words='${wordsOf(spec).join(' ')}' files=${files} ;;`;
  });
  return `# Completion of longshore for bash: source <(longshore completion bash)
_longshore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local subcommands= options= words= files=0 at=2
  COMPREPLY=()
  # bash takes the = of --option=value for a word of its own.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    _longshore_words '${topWords()}'
    return
  fi
  if [[ $command == help ]]; then
    if ((COMP_CWORD == 2)); then
      _longshore_words '${Object.keys(COMMANDS).join(' ')}'
      return
    fi
    command=\${COMP_WORDS[2]} at=3
  fi
  case $command in
${subcommands.join('\n')}
  esac
  if [[ -n $subcommands ]]; then
    if ((COMP_CWORD == at)); then
      _longshore_words "$subcommands --help"
      return
    fi
    command="$command \${COMP_WORDS[at]}"
    ((at++))
  fi
  case $command:$prev in
${values.join('\n')}
  esac
  case $command in
${known.join('\n')}
  esac
  if [[ $cur == -* ]]; then _longshore_words "$options"
  elif ((COMP_CWORD == at)) && [[ -n $words ]]; then _longshore_words "$words"
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
function bashValue({ values, path }: Extract<OptionSpec, { readonly type: 'string' }>): string {
  if (path === 'directory') return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); return';
  return path === 'file' ? 'return' : `_longshore_words '${(values ?? []).join(' ')}'; return`;
}

/** Completion for fish: one line per word and option. */
export function fishCompletion(): string {
  const line = (condition: string, rest: string): string => `complete -c longshore -n ${fishQuoted(condition)} ${rest}`;
  const seen = (...words: readonly string[]): string => `__fish_seen_subcommand_from ${words.join(' ')}`;
  const word = (name: string, summary: string): string => `-a ${name} -d ${fishQuoted(summary)}`;
  const top = Object.entries(COMMANDS).flatMap(([name, entry]) => [
    line('__fish_use_subcommand', word(name, entry.summary)),
    line(`${seen('help')}; and not ${seen(...Object.keys(COMMANDS).filter((one) => one !== 'help'))}`, `-a ${name}`),
  ]);
  const within = groups().flatMap(([name, { commands }]) => {
    const none = `${seen(name)}; and not ${seen(...Object.keys(commands))}`;
    return Object.entries(commands).map(([sub, { summary }]) => line(none, word(sub, summary)));
  });
  const commands = allCommands().flatMap(({ name, spec }) => {
    const here = name
      .split(' ')
      .map((one) => seen(one))
      .join('; and ');
    return [
      ...(wordsOf(spec).length > 0 ? [line(here, `-a ${fishQuoted(wordsOf(spec).join(' '))}`)] : []),
      ...(takesFiles(spec) ? [line(here, '-F')] : []),
      ...optionsOf(spec).map(([option, about]) =>
        line(here, `-l ${option}${fishValue(about)} -d ${fishQuoted(about.what)}`),
      ),
    ];
  });
  return `# Completion of longshore for fish: longshore completion fish | source
complete -c longshore -f
complete -c longshore -n __fish_use_subcommand -l help -d 'show help'
complete -c longshore -n __fish_use_subcommand -l version -d 'print the version'
${[...top, ...within, ...commands].join('\n')}
`;
}

function fishValue(option: OptionSpec): string {
  if (option.type === 'boolean') return '';
  if (option.path === 'directory') return " -x -a '(__fish_complete_directories)'";
  if (option.path === 'file') return ' -r -F';
  return option.values ? ` -x -a ${fishQuoted(option.values.join(' '))}` : ' -x';
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Completion for zsh: passes each command's words to _arguments. */
export function zshCompletion(): string {
  const described = (entries: readonly (readonly [string, { readonly summary: string }])[]): string =>
    entries.map(([name, { summary }]) => zshQuoted(`${name}:${summary}`)).join(' ');
  const cases = Object.entries(COMMANDS).map(([name, entry]) => {
    if (!isGroup(entry)) return `    ${name}) ${zshArguments({ name, spec: entry })} ;;`;
    const inner = Object.entries(entry.commands).map(
      ([word, spec]) => `        ${word}) ${zshArguments({ name: word, spec })} ;;`,
    );
    return `    ${name})
      known=(${described(Object.entries(entry.commands))})
      if ((CURRENT == 2)); then
        _describe -t commands command known
        return
      fi
      shift words
      ((CURRENT--))
      case $words[1] in
${inner.join('\n')}
      esac ;;`;
  });
  return `#compdef longshore
# Completion of longshore for zsh: source <(longshore completion zsh), or a file _longshore in a folder of $fpath.
_longshore() {
  local -a known
  known=(${described(Object.entries(COMMANDS))})
  if ((CURRENT > 2)) && [[ $words[2] == help ]]; then
    shift words
    ((CURRENT--))
  fi
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

function zshArguments({ spec }: NamedCommand): string {
  const places = Object.entries(spec.arguments).map(([name, { values, path, many }], at) => {
    const action = values ? `(${values.join(' ')})` : path === undefined ? ' ' : '_files';
    return zshQuoted(`${many ? '*' : at + 1}:${argumentName(name)}:${action}`);
  });
  return `_arguments ${[...optionsOf(spec).map(zshOption), ...places].join(' ')}`;
}

function zshOption([name, option]: readonly [string, OptionSpec]): string {
  const what = option.what.replaceAll(/[[\]\\]/g, '\\$&');
  if (option.type === 'boolean') return zshQuoted(`--${name}[${what}]`);
  const { value, values, path, multiple } = option;
  const action =
    path === 'directory' ? '_files -/' : path === 'file' ? '_files' : values ? `(${values.join(' ')})` : ' ';
  return zshQuoted(`${multiple ? '*' : ''}--${name}=[${what}]:${value}:${action}`);
}

const zshQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
