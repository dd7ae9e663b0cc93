// `longshore config init FILE`, `config check FILE`, `config print FILE`, `config schema` and `config reference`.

import { sharedDataSchemas } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { namedFileFindings } from '../../config/named-files.ts';
import { jsonSchema, printDocument, reference, shownDocument } from '../../config/reference.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { formatFault } from '../../config/validate.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, type CommandIo, EXIT } from '../cli/command.ts';
import { jsonDocument } from '../cli/terminal/text.ts';
import { CONFIG_INIT } from '../cli/tree/config-init.ts';
import { CONFIG_CHECK, CONFIG_PRINT, CONFIG_REFERENCE, CONFIG_SCHEMA } from '../cli/tree/machine.ts';

export const schema: Command = implement(CONFIG_SCHEMA, async (_call, io) => {
  io.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
  return EXIT.ok;
});

export const printReference: Command = implement(CONFIG_REFERENCE, async (_call, io) => {
  io.out(reference(ROOT_SCHEMA));
  return EXIT.ok;
});

export const init: Command = implement(CONFIG_INIT, async ({ values: { json, ...options }, args: { file } }, io) => {
  const given = Object.entries(options).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  const { initConfig, writtenText } = await import('../cli/config-init/init.ts');
  const written = await initConfig(file, Object.fromEntries(given), io);
  io.out(json ? jsonDocument(written) : writtenText(written));
  return EXIT.ok;
});

/** Loads the file and checks that the files and programs that it names exist. */
export const check: Command = implement(CONFIG_CHECK, async ({ values: { json: asJson }, args: { file } }, io) => {
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
});

export const print: Command = implement(CONFIG_PRINT, async ({ values: { json: asJson }, args: { file } }, io) => {
  const loaded = await load(file, io, false, false);
  if (!loaded.ok) return EXIT.configuration;
  io.out(asJson ? jsonDocument(shownDocument(loaded.document)) : printDocument(loaded.document));
  return EXIT.ok;
});

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
