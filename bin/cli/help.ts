// Help texts of the command tree, for terminals of 80 columns and more.

import { argumentName } from './arguments.ts';
import type { ArgumentSpec, CommandGroup, CommandSpec, OptionSpec } from './command.ts';
import { allCommands, COMMANDS, isGroup, type NamedCommand, SECTIONS } from './command-table.ts';
import { EXIT_CODES } from './tree/about.ts';

export const WIDTH = 80;
/** A longer name gets a line of its own. */
const WIDEST_NAME = 22;
const INDENT = 2;
const GAP = 2;

/** `longshore datasets revise ID [FILE..] --note TEXT [OPTIONS]`. */
export function usageOf({ name, spec }: NamedCommand): string {
  const required = Object.entries(spec.options).filter(([, option]) => 'required' in option);
  const others = Object.keys(spec.options).length > required.length ? ['[OPTIONS]'] : [];
  const words = [
    `longshore ${name}`,
    ...Object.entries(spec.arguments).map(([argument, { optional, many }]) => {
      const word = `${argumentName(argument)}${many ? '..' : ''}`;
      return optional ? `[${word}]` : word;
    }),
    ...required.map(([option, about]) => optionLabel(option, about)),
    ...others,
  ];
  return words.join(' ');
}

export const groupUsage = (name: string): string => `longshore ${name} COMMAND [ARGUMENTS] [OPTIONS]`;

/** `--lane LANE`; a flag has no value. */
export const optionLabel = (name: string, option: OptionSpec): string =>
  option.type === 'boolean' ? `--${name}` : `--${name} ${option.value}`;

/** What an option is, which values it may have, and what holds when it is not given. */
export function optionText(option: OptionSpec): string {
  const otherwise = optionDefault(option);
  if (otherwise === '') return optionMeaning(option);
  return `${optionMeaning(option)} (${otherwise === REQUIRED ? REQUIRED : `default: ${otherwise}`})`;
}

export function optionMeaning(option: OptionSpec): string {
  if (option.type === 'boolean') return option.what;
  const values = option.values ? `; one of ${option.values.join(', ')}` : '';
  return `${option.what}${values}${option.multiple ? '; may be given several times' : ''}`;
}

const REQUIRED = 'required';

/** Empty for a flag: it is off. */
export function optionDefault(option: OptionSpec): string {
  if (option.type === 'boolean') return '';
  if ('required' in option) return REQUIRED;
  return 'default' in option ? option.default : option.otherwise;
}

export const argumentText = ({ what, values }: ArgumentSpec): string =>
  values ? `${what}; one of ${values.join(', ')}` : what;

export function commandHelp(command: NamedCommand): string {
  const { spec } = command;
  const options: readonly Row[] = Object.entries(spec.options).map(([name, option]) => [
    optionLabel(name, option),
    optionText(option),
  ]);
  return joined([
    usageLines(usageOf(command)),
    paragraph(sentence(spec.summary)),
    ...(spec.description ?? []).map((text) => paragraph(text)),
    section(
      'arguments',
      Object.entries(spec.arguments).map(([name, about]) => [argumentName(name), argumentText(about)]),
    ),
    section('options', [...options, ['-h, --help', 'show this help']]),
    examples(spec),
    exitCodes(spec),
  ]);
}

export function groupHelp(name: string, group: CommandGroup): string {
  return joined([
    usageLines(groupUsage(name)),
    paragraph(sentence(group.summary)),
    section(
      'commands',
      Object.entries(group.commands).map(([word, { summary }]) => [word, summary]),
    ),
    paragraph(`'longshore ${name} COMMAND --help' shows arguments, options and examples of a command.`),
  ]);
}

export function mainHelp(): string {
  const names = Object.keys(COMMANDS).map((name) => name.length);
  return joined([
    usageLines('longshore COMMAND [ARGUMENTS] [OPTIONS]'),
    ...SECTIONS.map(({ title, commands }) =>
      section(
        title,
        Object.entries(commands).map(([name, { summary }]) => [name, summary]),
        Math.max(...names),
      ),
    ),
    section('Options', [
      ['-h, --help', 'show this help, or that of a command'],
      ['-v, --version', 'print the version'],
    ]),
    paragraph("'longshore COMMAND --help' shows arguments, options and examples of a command."),
  ]);
}

/** The names after `longshore help`: the help that they ask for; undefined if there is no such command. */
export function helpFor(words: readonly string[]): string | undefined {
  const name = words.join(' ');
  if (name === '') return mainHelp();
  const found = allCommands().find((one) => one.name === name);
  if (found) return commandHelp(found);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return entry && isGroup(entry) ? groupHelp(name, entry) : undefined;
}

/** Phrases become sentences where they stand alone. */
export const sentence = (phrase: string): string => `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;

type Row = readonly [name: string, text: string];

function examples({ examples: shown }: CommandSpec): string {
  const lines = shown.flatMap(({ run, what }) => [
    ...exampleLines(run, WIDTH - INDENT),
    ...wrapped(what, WIDTH - INDENT - 4).map((line) => `    ${line}`),
  ]);
  return `examples:\n${lines.map((line) => `${' '.repeat(INDENT)}${line}\n`).join('')}`;
}

/** Deeper than what is said of the example. */
const CONTINUED = '        ';

/** The command line of an example, in lines of at most `width` columns that can be pasted into a shell. */
export const exampleLines = (run: string, width: number): readonly string[] =>
  wrapped(shellWords(`longshore ${run}`), width - CONTINUED.length, ' \\').map((line, at) =>
    at === 0 ? line : `${CONTINUED}${line}`,
  );

function exitCodes({ exitCodes: own = {} }: CommandSpec): string {
  const rows = Object.entries({ ...EXIT_CODES, ...own }).map(([code, meaning]) => [code, meaning] as const);
  return section('exit codes', rows);
}

function section(title: string, rows: readonly Row[], least = 0): string {
  if (rows.length === 0) return '';
  const widths = rows.map(([name]) => name.length).filter((width) => width <= WIDEST_NAME);
  const width = Math.max(least, ...widths);
  const left = INDENT + width + GAP;
  const lines = rows.flatMap(([name, text]) => {
    const [first = '', ...others] = wrapped(text, WIDTH - left);
    const rest = others.map((line) => `${' '.repeat(left)}${line}`);
    const head = `${' '.repeat(INDENT)}${name}`;
    return name.length > width
      ? [head, `${' '.repeat(left)}${first}`, ...rest]
      : [`${head.padEnd(left)}${first}`, ...rest];
  });
  return `${title}:\n${lines.map((line) => `${line}\n`).join('')}`;
}

function usageLines(usage: string): string {
  return wrapped(`usage: ${usage}`, WIDTH - 6)
    .map((line, at) => `${at === 0 ? '' : '    '}${line}\n`)
    .join('');
}

const paragraph = (text: string): string =>
  wrapped(text, WIDTH)
    .map((line) => `${line}\n`)
    .join('');

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n');

/** Quoted words stay whole, so that the lines can be pasted into a shell. */
const shellWords = (text: string): readonly string[] => text.match(/(?:[^\s']|'[^']*')+/g) ?? [];

/** Lines of at most `width` columns; longer words are not broken. @param glue ends each line but the last */
function wrapped(text: string | readonly string[], width: number, glue = ''): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of typeof text === 'string' ? text.split(' ') : text) {
    if (line !== '' && line.length + 1 + word.length + glue.length > width) {
      lines.push(line + glue);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
