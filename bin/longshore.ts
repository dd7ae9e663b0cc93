#!/usr/bin/env node
// The program: finds the command, runs it, turns what it throws into an exit code and a sentence.

import { writeSync } from 'node:fs';
import { Failure, kindOf, messageOf } from '../engine/failure.ts';
import { stopSignal } from '../engine/shutdown.ts';
import { type Command, EXIT, type ExitCode } from './command.ts';
import { ConfigurationError } from './configuration-error.ts';
import { UsageError } from './usage-error.ts';

// Loaded on demand: a plugin's script must not wait for a web server's libraries.
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import('./commands/up.ts')).up,
  serve: async () => (await import('./commands/serve.ts')).serve,
  plugin: async () => (await import('./commands/plugin.ts')).plugin,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  'migrate-target': async () => (await import('./commands/migrate.ts')).migrateTargetCommand,
  token: async () => (await import('./commands/token.ts')).token,
  upload: async () => (await import('./commands/upload.ts')).upload,
  watch: async () => (await import('./commands/watch.ts')).watch,
  datasets: async () => (await import('./commands/datasets.ts')).datasets,
  jobs: async () => (await import('./commands/jobs.ts')).jobs,
  retry: async () => (await import('./commands/retry.ts')).retry,
  reconcile: async () => (await import('./commands/reconcile.ts')).reconcile,
  prune: async () => (await import('./commands/prune.ts')).prune,
  access: async () => (await import('./commands/access.ts')).access,
  query: async () => (await import('./commands/query.ts')).query,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  config: async () => (await import('./commands/config.ts')).config,
};
/** Run by the launchers of the sample plugins; not for people. */
const HIDDEN: Readonly<Record<string, () => Promise<Command>>> = {
  'sample-script': async () => (await import('./commands/sample-script.ts')).sampleScript,
};

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<ExitCode> {
  const [name = 'help', ...args] = argv;
  if (['help', '--help', '-h'].includes(name)) return help();
  if (name === '--version') {
    print(1, `${(await import('./version.ts')).VERSION}\n`);
    return EXIT.ok;
  }
  const load = COMMANDS[name] ?? HIDDEN[name];
  if (!load) {
    print(2, `longshore: unknown command '${name}'; one of: ${Object.keys(COMMANDS).join(', ')}\n`);
    return EXIT.usage;
  }
  const command = await load();
  try {
    return await command.run(args, {
      env: process.env,
      out: (text) => print(1, text),
      err: (text) => print(2, text),
      terminal: process.stderr.isTTY === true,
      signal: stopSignal(process),
    });
  } catch (error) {
    return explain(command, error);
  }
}

function explain(command: Command, error: unknown): ExitCode {
  if (error instanceof UsageError) {
    print(2, `longshore ${command.name}: ${error.message}\nusage: ${command.usage}\n`);
    return EXIT.usage;
  }
  print(2, `longshore ${command.name}: ${messageOf(error)}\n`);
  if (error instanceof ConfigurationError) return EXIT.configuration;
  const kind = kindOf(error);
  // A bug of ours: the trace is what a report needs.
  if (kind === 'defect' && error instanceof Error) print(2, `${error.stack ?? ''}\n`);
  return error instanceof Failure && error.unreachable ? EXIT.unreachable : EXIT.failed;
}

async function help(): Promise<ExitCode> {
  print(1, 'usage: longshore COMMAND [OPTIONS]\n\n');
  for (const [name, load] of Object.entries(COMMANDS)) print(1, `  ${name.padEnd(16)}${(await load()).summary}\n`);
  return EXIT.ok;
}

/** Written at once: a pipe that is closed after us must not swallow the last line. */
function print(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') continue;
      return; // nobody reads any more
    }
  }
}
