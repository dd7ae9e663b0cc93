#!/usr/bin/env -S node --max-semi-space-size=4
// The program: finds the command, runs it, turns errors into an exit code and a message.

import { writeSync } from 'node:fs';
import { Failure, kindOf, messageOf } from '../engine/runtime/failure.ts';
import { stopSignal } from '../engine/runtime/shutdown.ts';
import { suggestion } from './cli/arguments.ts';
import { type Command, ConfigurationError, EXIT, type ExitCode, UsageError } from './cli/command.ts';
import { COMMANDS, HIDDEN } from './cli/command-table.ts';
import { nextStep } from './cli/next-step.ts';
import { keyboardOf, terminalOf } from './cli/terminal/terminal.ts';
import { plainLines } from './cli/terminal/text.ts';
import { hiddenEnvironment } from './compose/hidden-environment.ts';

// No top-level await: the single executable stores its compiled code as CommonJS.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main(argv: readonly string[]): Promise<ExitCode> {
  const [name = 'help', ...args] = argv;
  if (['help', '--help', '-h'].includes(name)) return help();
  if (name === '--version') {
    print(1, `${await (await import('./cli/version.ts')).versionText()}\n`);
    return EXIT.ok;
  }
  const load = COMMANDS[name]?.load ?? HIDDEN[name];
  if (!load) {
    const known = Object.keys(COMMANDS);
    print(2, `longshore: unknown command '${name}'${suggestion(name, known)}; expected one of: ${known.join(', ')}\n`);
    return EXIT.usage;
  }
  // Other users of the machine cannot read what services and their scripts write.
  if (COMMANDS[name]?.hidesEnvironment) process.umask(process.umask() | 0o027);
  // Before anything of the command is loaded, because the process may be re-executed.
  const env = COMMANDS[name]?.hidesEnvironment ? hiddenEnvironment() : process.env;
  const command = await load();
  if (COMMANDS[name] && asksForHelp(args)) {
    print(1, `usage: ${command.usage}\n\n${COMMANDS[name].summary}\n`);
    return EXIT.ok;
  }
  try {
    return await command.run(args, {
      env,
      out: (text) => print(1, text),
      err: (text) => print(2, text),
      outTerminal: terminalOf(process.stdout, env, (text) => print(1, text)),
      errTerminal: terminalOf(process.stderr, env, (text) => print(2, text)),
      keyboard: () => keyboardOf(process.stdin),
      signal: stopSignal(process),
    });
  } catch (error) {
    return explain(command, error);
  }
}

function explain(command: Command, error: unknown): ExitCode {
  if (error instanceof UsageError) {
    print(2, `longshore ${command.name}: ${plainLines(error.message)}\nusage: ${command.usage}\n`);
    return EXIT.usage;
  }
  print(2, `longshore ${command.name}: ${plainLines(messageOf(error))}\n`);
  const next = nextStep(command, error);
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
  return args.slice(0, end < 0 ? undefined : end).some((arg) => arg === '--help' || arg === '-h');
}

function help(): ExitCode {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(16)}${summary}\n`);
  print(1, `usage: longshore COMMAND [OPTIONS]\n\n${lines.join('')}\n'longshore COMMAND --help' shows its options\n`);
  return EXIT.ok;
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
