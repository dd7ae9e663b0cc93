#!/usr/bin/env -S node --max-semi-space-size=4
// The program: finds the command, runs it, turns errors into an exit code and a message.

import { writeSync } from 'node:fs';
import { Failure, kindOf, messageOf } from '../engine/runtime/failure.ts';
import { stopSignal } from '../engine/runtime/shutdown.ts';
import { type CommandIo, ConfigurationError, EXIT, type ExitCode, UsageError } from './cli/command.ts';
import type { Found, NamedCommand } from './cli/command-table.ts';
import { INTERNAL } from './cli/internal-commands.ts';
import { keyboardOf, terminalOf } from './cli/terminal/terminal.ts';
import { plainLines } from './cli/terminal/text.ts';
import { hiddenEnvironment } from './compose/hidden-environment.ts';

const HELP = ['--help', '-h'];
const ABOUT: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
};

// No top-level await: the single executable stores its compiled code as CommonJS.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main(argv: readonly string[]): Promise<ExitCode> {
  const [name = 'help', ...rest] = argv;
  const internal = INTERNAL[name];
  return internal ? await runInternal(name, internal, rest) : await runCommand([ABOUT[name] ?? name, ...rest]);
}

async function runInternal(name: string, load: (typeof INTERNAL)[string], args: readonly string[]): Promise<ExitCode> {
  const command = await load();
  try {
    return await command.run(args, ioOf(process.env));
  } catch (error) {
    return explain(name, error);
  }
}

async function runCommand(argv: readonly string[]): Promise<ExitCode> {
  const { findCommand } = await import('./cli/command-table.ts');
  const found = findCommand(argv);
  if (found.kind !== 'command') return await notACommand(found);
  const { spec, rest } = found;
  if (asksForHelp(rest)) {
    print(1, (await import('./cli/help.ts')).commandHelp(found));
    return EXIT.ok;
  }
  // Other users of the machine cannot read what services and their scripts write.
  if (spec.hidesEnvironment) process.umask(process.umask() | 0o027);
  // Before anything of the command is loaded, because the process may be re-executed.
  const env = spec.hidesEnvironment ? hiddenEnvironment() : process.env;
  const command = await spec.load();
  try {
    return await command.run(rest, ioOf(env));
  } catch (error) {
    return await explain(found.name, error, found);
  }
}

/** A word that is not a command, or the name of a group alone. */
async function notACommand(found: Exclude<Found, { kind: 'command' }>): Promise<ExitCode> {
  const [{ COMMANDS }, { suggestion }] = await Promise.all([
    import('./cli/command-table.ts'),
    import('./cli/arguments.ts'),
  ]);
  if (found.kind === 'group' && asksForHelp(found.rest)) {
    print(1, (await import('./cli/help.ts')).groupHelp(found.name, found.group));
    return EXIT.ok;
  }
  const known = Object.keys(found.kind === 'group' ? found.group.commands : COMMANDS);
  const [word] = found.rest;
  const program = found.kind === 'group' ? `longshore ${found.name}` : 'longshore';
  const wrong = word === undefined ? 'a command is required' : `unknown command '${word}'${suggestion(word, known)}`;
  print(2, `${program}: ${plainLines(wrong)}; expected one of: ${known.join(', ')}\n`);
  return EXIT.usage;
}

function ioOf(env: CommandIo['env']): CommandIo {
  return {
    env,
    out: (text) => print(1, text),
    err: (text) => print(2, text),
    outTerminal: terminalOf(process.stdout, env, (text) => print(1, text)),
    errTerminal: terminalOf(process.stderr, env, (text) => print(2, text)),
    keyboard: () => keyboardOf(process.stdin),
    signal: stopSignal(process),
  };
}

async function explain(name: string, error: unknown, command?: NamedCommand): Promise<ExitCode> {
  print(2, `longshore ${name}: ${plainLines(messageOf(error))}\n`);
  if (error instanceof UsageError) {
    if (command) {
      const { usageOf } = await import('./cli/help.ts');
      print(2, `usage: ${usageOf(command)}\n'longshore ${name} --help' shows its options and examples\n`);
    }
    return EXIT.usage;
  }
  const next = command && (await import('./cli/next-step.ts')).nextStep(command, error);
  if (next !== undefined) print(2, `next: ${next}\n`);
  if (error instanceof ConfigurationError) return EXIT.configuration;
  const kind = kindOf(error);
  // A bug in this program: the stack trace belongs in a bug report.
  if (kind === 'defect' && error instanceof Error) print(2, `${error.stack ?? ''}\n`);
  return error instanceof Failure && error.unreachable ? EXIT.unreachable : EXIT.failed;
}

/** Arguments after `--` are names, for example of files. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? undefined : end).some((arg) => HELP.includes(arg));
}

/** Written synchronously: the last line must not be lost when the process exits. */
function print(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') continue;
      return; // the reader has closed the pipe
    }
  }
}
