// Loads a configuration file for a command. All faults become one error; each warning is printed once.

import type { Configuration } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';
import { MAILS_WAIT } from '../../config/warnings.ts';
import type { SettingsFile } from '../compose/reloading.ts';
import { type CommandIo, ConfigurationError } from './command.ts';

/** A configuration, and the file that it was read from. */
interface LoadedConfig {
  readonly configuration: Configuration;
  readonly source: SettingsFile;
}

/**
 * Loads the whole configuration.
 * @param takesMails whether the caller delivers mails if the configuration names no mail server
 */
export async function loadConfig(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  options: { readonly takesMails?: boolean } = {},
): Promise<Configuration> {
  return (await loadConfigFile(file, io, options)).configuration;
}

/** Like {@link loadConfig}, for a process that may reload the file. */
export async function loadConfigFile(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  { takesMails = false }: { readonly takesMails?: boolean } = {},
): Promise<LoadedConfig> {
  const load: SettingsFile['load'] = async () => {
    const loaded = await loadConfiguration(file, { env: io.env });
    if (!loaded.ok || !takesMails) return loaded;
    return { ...loaded, warnings: loaded.warnings.filter((warning) => warning !== MAILS_WAIT) };
  };
  const loaded = await load();
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  for (const warning of loaded.warnings) io.err(`warning: ${warning}\n`);
  return { configuration: loaded.configuration, source: { file, document: loaded.document, load } };
}
