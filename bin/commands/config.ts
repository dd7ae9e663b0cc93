// `longshore config check FILE | schema | print FILE`.

import { formatFault } from '../../config/fault.ts';
import { jsonSchema } from '../../config/json-schema.ts';
import { loadConfiguration } from '../../config/load.ts';
import { namedFileFindings } from '../../config/named-files.ts';
import { printDocument } from '../../config/print.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { type Command, type CommandIo, EXIT, type ExitCode } from '../command.ts';

export const config: Command = {
  name: 'config',
  usage: 'longshore config check FILE | longshore config schema | longshore config print FILE',
  options: {},
  words: ['check', 'schema', 'print'],
  async run(args, io) {
    const [verb, file, ...rest] = args;
    if (verb === 'schema' && file === undefined) {
      io.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
      return EXIT.ok;
    }
    if (file !== undefined && !file.startsWith('-') && rest.length === 0) {
      if (verb === 'check') return check(file, io);
      if (verb === 'print') return print(file, io);
    }
    io.err(`usage: ${config.usage}\n`);
    return EXIT.usage;
  },
};

/** Loads the file and looks for the files and programs that it names. */
async function check(file: string, io: CommandIo): Promise<ExitCode> {
  const loaded = await load(file, io, true);
  if (!loaded.ok) return EXIT.configuration;
  const { installTargets, plugins } = loaded.configuration.installer;
  const targets = counted(installTargets.length, 'enabled install target');
  io.out(`${file}: ok, ${targets}, ${counted(Object.keys(plugins).length, 'plugin')}\n`);
  return EXIT.ok;
}

async function print(file: string, io: CommandIo): Promise<ExitCode> {
  const loaded = await load(file, io, false);
  if (!loaded.ok) return EXIT.configuration;
  io.out(printDocument(loaded.document));
  return EXIT.ok;
}

async function load(file: string, io: CommandIo, withFiles: boolean) {
  const loaded = await loadConfiguration(file, {
    env: io.env,
    ...(withFiles
      ? { check: (document, dir) => namedFileFindings(ROOT_SCHEMA, document, dir, io.env.PATH ?? '') }
      : {}),
  });
  if (loaded.ok) for (const warning of loaded.warnings) io.err(`${file}: warning: ${warning}\n`);
  else for (const fault of loaded.faults) io.err(`${formatFault(fault)}\n`);
  return loaded;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
