// npm run docs:commands: writes docs/commands.md, the reference of all commands, from the command tree.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argumentName } from '../cli/arguments.ts';
import type { CommandSpec } from '../cli/command.ts';
import { isGroup, SECTIONS } from '../cli/command-table.ts';
import { argumentText, optionDefault, optionLabel, optionMeaning, sentence, usageOf } from '../cli/help.ts';
import { ENVIRONMENT, EXIT_CODES } from '../cli/tree/about.ts';

export function commandReference(): string {
  return [
    '# Commands',
    'This page is generated from the commands themselves (`npm run docs:commands`). `longshore help COMMAND` and the manual ' +
      'pages show the same. Every command also has `-h` and `--help`. [operate.md](operate.md#command-line) describes output, ' +
      'JSON and completion.',
    ...SECTIONS.flatMap(({ title, commands }) => [
      `## ${title}`,
      ...Object.entries(commands).flatMap(([name, entry]) =>
        isGroup(entry)
          ? Object.entries(entry.commands).flatMap(([word, spec]) => described(`${name} ${word}`, spec))
          : described(name, entry),
      ),
    ]),
    '## Exit codes',
    'Some commands say more about a code above.',
    table(['code', 'meaning'], Object.entries(EXIT_CODES)),
    '## Environment',
    table(
      ['variable', 'what'],
      Object.entries(ENVIRONMENT).map(([name, what]) => [`\`${name}\``, what]),
    ),
  ]
    .map((part) => `${part}\n`)
    .join('\n');
}

function described(name: string, spec: CommandSpec): readonly string[] {
  const args = Object.entries(spec.arguments).map(([argument, about]) => [
    `\`${argumentName(argument)}\``,
    argumentText(about),
  ]);
  const options = Object.entries(spec.options).map(([option, about]) => [
    `\`${optionLabel(option, about)}\``,
    optionMeaning(about),
    optionDefault(about),
  ]);
  const codes = Object.entries(spec.exitCodes ?? {}).map(([code, meaning]) => `- Exit code ${code}: ${meaning}.`);
  return [
    `### longshore ${name}`,
    [sentence(spec.summary), ...(spec.description ?? [])].join(' '),
    fenced([usageOf({ name, spec })]),
    ...(args.length > 0 ? [table(['argument', 'what'], args)] : []),
    ...(options.length > 0 ? [table(['option', 'what', 'default'], options)] : []),
    ...(codes.length > 0 ? [codes.join('\n')] : []),
    fenced(spec.examples.flatMap(({ run, what }) => [`# ${what}`, `longshore ${run}`])),
  ];
}

const fenced = (lines: readonly string[]): string => ['```', ...lines, '```'].join('\n');

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

if (import.meta.main) await writeFile(join(import.meta.dirname, '..', '..', 'docs', 'commands.md'), commandReference());
