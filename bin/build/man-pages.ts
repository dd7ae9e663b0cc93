// The manual pages of the program, made of the command tree: longshore(1), and one page per command, subcommand and group.

import { argumentName } from '../cli/arguments.ts';
import type { CommandGroup, CommandSpec } from '../cli/command.ts';
import { allCommands, COMMANDS, isGroup, SECTIONS } from '../cli/command-table.ts';
import { argumentText, exampleLines, groupUsage, optionLabel, optionText, sentence, usageOf } from '../cli/help.ts';
import { ENVIRONMENT, EXIT_CODES, FILES } from '../cli/tree/about.ts';

interface ManEdition {
  readonly version: string;
  /** Of the sources, YYYY-MM-DD. */
  readonly date: string;
}

/** Pages as roff, by file name. */
export function manPages(edition: ManEdition): Readonly<Record<string, string>> {
  const page = (name: string, summary: string, body: readonly string[]): readonly [string, string] => [
    `${name}.1`,
    // Left-aligned and without hyphenation, so that words can be searched for and copied.
    [heading(name, edition), '.nh', '.ad l', '.SH NAME', `${text(name)} \\- ${text(summary)}`, ...body, ''].join('\n'),
  ];
  return Object.fromEntries([
    page('longshore', 'takes scientific datasets from upload to installed', mainBody()),
    ...Object.entries(COMMANDS).flatMap(([name, entry]) =>
      isGroup(entry) ? [page(pageName(name), entry.summary, groupBody(name, entry))] : [],
    ),
    ...allCommands().map(({ name, spec }) => page(pageName(name), spec.summary, commandBody(name, spec))),
  ]);
}

/** What is left of 80 columns for an example. */
const EXAMPLE_WIDTH = 66;

const pageName = (command: string): string => ['longshore', ...command.split(' ')].join('-');

function mainBody(): readonly string[] {
  return [
    ...synopsis('longshore COMMAND [ARGUMENTS] [OPTIONS]'),
    '.SH DESCRIPTION',
    text(
      'Longshore accepts scientific datasets from users, has plugins validate and convert them, and installs them into one ' +
        'or more project sites. It keeps the copies on all sites in sync.',
    ),
    '.PP',
    text(
      'Results go to standard output, progress and errors to standard error. After an error that you can fix, a line that ' +
        'begins with next: says how.',
    ),
    '.SH COMMANDS',
    ...SECTIONS.flatMap(({ title, commands }) => [
      `.SS ${quoted(title)}`,
      ...Object.entries(commands).flatMap(([name, { summary }]) => entry(`\\fB${text(name)}\\fR`, summary)),
    ]),
    '.PP',
    `Each command has a page of its own, such as ${reference('longshore-datasets-show')}.`,
    '.SH OPTIONS',
    ...entry('\\fB\\-h\\fR, \\fB\\-\\-help\\fR', 'show help, also for a command'),
    ...entry('\\fB\\-v\\fR, \\fB\\-\\-version\\fR', 'print the version'),
    ...exitStatus({}),
    '.SH ENVIRONMENT',
    ...Object.entries(ENVIRONMENT).flatMap(([name, what]) => entry(`\\fB${text(name)}\\fR`, what)),
    '.SH FILES',
    ...Object.entries(FILES).flatMap(([name, what]) => entry(`\\fI${text(name)}\\fR`, what)),
    '.SH SEE ALSO',
    text('/usr/share/doc/longshore/docs/operate.md and /usr/share/doc/longshore/config/REFERENCE.md'),
  ];
}

function groupBody(name: string, { commands }: CommandGroup): readonly string[] {
  return [
    ...synopsis(groupUsage(name)),
    '.SH COMMANDS',
    ...Object.entries(commands).flatMap(([word, { summary }]) => entry(`\\fB${text(word)}\\fR`, summary)),
    ...seeAlso(Object.keys(commands).map((word) => pageName(`${name} ${word}`))),
  ];
}

function commandBody(name: string, spec: CommandSpec): readonly string[] {
  const args = Object.entries(spec.arguments).flatMap(([argument, about]) =>
    entry(`\\fI${text(argumentName(argument))}\\fR`, argumentText(about)),
  );
  const options = Object.entries(spec.options).flatMap(([option, about]) => {
    const [flag = '', value] = optionLabel(option, about).split(' ');
    return entry(`\\fB${text(flag)}\\fR${value === undefined ? '' : ` \\fI${text(value)}\\fR`}`, optionText(about));
  });
  const examples = spec.examples.flatMap(({ run, what }) => [
    text(sentence(what)),
    '.PP',
    '.RS 4',
    '.EX',
    ...exampleLines(run, EXAMPLE_WIDTH).map(text),
    '.EE',
    '.RE',
    '.PP',
  ]);
  const [group = ''] = name.split(' ');
  return [
    ...synopsis(usageOf({ name, spec })),
    '.SH DESCRIPTION',
    text(sentence(spec.summary)),
    ...(spec.description ?? []).flatMap((paragraph) => ['.PP', text(paragraph)]),
    ...(args.length > 0 ? ['.SH ARGUMENTS', ...args] : []),
    '.SH OPTIONS',
    ...options,
    ...entry('\\fB\\-h\\fR, \\fB\\-\\-help\\fR', 'show help'),
    '.SH EXAMPLES',
    ...examples.slice(0, -1),
    ...exitStatus(spec.exitCodes ?? {}),
    ...seeAlso(group === name ? ['longshore'] : ['longshore', pageName(group)]),
  ];
}

const heading = (name: string, { version, date }: ManEdition): string =>
  `.TH ${quoted(name.toUpperCase())} 1 ${quoted(date)} ${quoted(`longshore ${version}`)} "Longshore"`;

const synopsis = (usage: string): readonly string[] => ['.SH SYNOPSIS', text(usage)];

const exitStatus = (own: NonNullable<CommandSpec['exitCodes']>): readonly string[] => [
  '.SH EXIT STATUS',
  ...Object.entries({ ...EXIT_CODES, ...own }).flatMap(([code, meaning]) => entry(code, meaning)),
];

const seeAlso = (names: readonly string[]): readonly string[] => ['.SH SEE ALSO', `${names.map(reference).join(', ')}`];

const reference = (page: string): string => `\\fB${text(page)}\\fR(1)`;

/** A tagged paragraph. @param tag roff */
const entry = (tag: string, what: string): readonly string[] => ['.TP', tag, text(what)];

/** Text as roff: every character stands for itself, whatever the terminal and the page's language. */
const text = (plain: string): string => escaped(plain).replace(/^\./, '\\&.');

const escaped = (plain: string): string =>
  plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti');

/** A macro's argument. */
const quoted = (plain: string): string => `"${escaped(plain).replaceAll('"', '\\(dq')}"`;
