// A configuration file for a command: loaded, or every fault as one error; warnings are said once.

import type { Configuration } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';
import { MAILS_WAIT } from '../../config/warnings.ts';
import type { SettingsFile } from '../compose/reloading.ts';
import type { CommandIo } from './command.ts';
import { ConfigurationError } from './configuration-error.ts';

/** A configuration and the file that it came from. */
export interface LoadedConfig {
  readonly configuration: Configuration;
  readonly source: SettingsFile;
}

/**
 * The whole configuration.
 * @param takesMails whether the caller delivers mails where the configuration names no server
 */
export async function loadConfig(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  options: { readonly takesMails?: boolean } = {},
): Promise<Configuration> {
  return (await loadConfigFile(file, io, options)).configuration;
}

/** The same, for a process that may read the file anew. */
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
