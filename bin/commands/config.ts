// `longshore config check FILE | schema | reference | print FILE`.

import { sharedDataSchemas } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { jsonSchema, printDocument, reference, shownDocument } from '../../config/reference.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { formatFault } from '../../config/validate.ts';
import { namedFileFindings } from '../../config/warnings.ts';
import { oneOf, parse } from '../cli/arguments.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { jsonDocument } from '../cli/terminal/text.ts';

const WORDS = ['check', 'schema', 'reference', 'print'] as const;
const OPTIONS = { json: { type: 'boolean' } } as const;

export const config: Command = {
  name: 'config',
  usage:
    'longshore config check FILE [--json] | longshore config schema | longshore config reference | longshore config print FILE [--json]',
  options: OPTIONS,
  words: WORDS,
  files: true,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const [verb, file, ...rest] = positionals;
    if (verb === undefined) throw new UsageError(`expected one of ${WORDS.join(', ')}`);
    const word = oneOf('', verb, WORDS);
    if (word === 'schema' || word === 'reference') {
      if (file !== undefined) throw new UsageError(`${word} takes no FILE`);
      io.out(word === 'schema' ? `${JSON.stringify(jsonSchema(), null, 2)}\n` : reference(ROOT_SCHEMA));
      return EXIT.ok;
    }
    if (file === undefined || rest.length > 0) throw new UsageError(`${word} needs one FILE`);
    return await (word === 'check' ? check : print)(file, values.json === true, io);
  },
};

/** Loads the file and checks that the files and programs that it names exist. */
async function check(file: string, asJson: boolean, io: CommandIo): Promise<ExitCode> {
  const loaded = await load(file, io, true, asJson);
  if (asJson) {
    const { faults, warnings } = loaded.ok ? { ...loaded, faults: [] } : { ...loaded, warnings: [] };
    const sharedData = loaded.ok ? sharedDataSchemas(loaded.configuration.installer.installTargets) : [];
    io.out(jsonDocument({ file, ok: loaded.ok, faults, warnings, sharedData }));
  }
  if (!loaded.ok) return EXIT.configuration;
  if (asJson) return EXIT.ok;
  const { installTargets, plugins } = loaded.configuration.installer;
  const targets = counted(installTargets.length, 'enabled install target');
  io.out(`${file}: ok, ${targets}, ${counted(Object.keys(plugins).length, 'plugin')}\n`);
  const { pluginHost } = loaded.configuration;
  if (pluginHost) {
    const { group, others } = pluginHost.installed;
    const modes = others ? 'folders 0755, files 0644' : 'folders 0750, files 0640';
    io.out(`installed files: ${modes}, ${group === undefined ? 'group of the plugin host' : `group ${group}`}\n`);
  }
  for (const shared of sharedDataSchemas(installTargets))
    io.out(
      `${shared.targets.join(', ')} share the data schema ${shared.schema} of ${shared.database}: a dataset's rows are stored there once\n`,
    );
  return EXIT.ok;
}

async function print(file: string, asJson: boolean, io: CommandIo): Promise<ExitCode> {
  const loaded = await load(file, io, false, false);
  if (!loaded.ok) return EXIT.configuration;
  io.out(asJson ? jsonDocument(shownDocument(loaded.document)) : printDocument(loaded.document));
  return EXIT.ok;
}

/** Prints faults and warnings to standard error, unless `silent`. */
async function load(file: string, io: CommandIo, withFiles: boolean, silent: boolean) {
  const loaded = await loadConfiguration(file, {
    env: io.env,
    ...(withFiles
      ? { check: (document, dir) => namedFileFindings(ROOT_SCHEMA, document, dir, io.env.PATH ?? '') }
      : {}),
  });
  if (silent) return loaded;
  if (loaded.ok) for (const warning of loaded.warnings) io.err(`${file}: warning: ${warning}\n`);
  else for (const fault of loaded.faults) io.err(`${formatFault(fault)}\n`);
  return loaded;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
