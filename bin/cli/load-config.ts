// Loads a configuration file for a command. All faults become one error; each warning is printed once.

import type { Configuration } from '../../config/configuration.ts';
import { changedConfiguration, loadConfiguration } from '../../config/load.ts';
import { missingFileFindings } from '../../config/named-files.ts';
import type { Cursor } from '../../config/path.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { formatFault } from '../../config/validate.ts';
import { MAILS_WAIT } from '../../config/warnings.ts';
import type { SettingsFile } from '../compose/reloading.ts';
import { type CommandIo, ConfigurationError } from './command.ts';

/** A configuration, and the file that it was read from. */
interface LoadedConfig {
  readonly configuration: Configuration;
  readonly source: SettingsFile;
}

/** Files of certificates and keys must exist before anything is started. */
export const filesExist = (document: Cursor, dir: string): ReturnType<typeof missingFileFindings> =>
  missingFileFindings(ROOT_SCHEMA, document, dir);

interface LoadOptions {
  /** Whether the caller delivers mails if the configuration names no mail server. */
  readonly takesMails?: boolean;
  /** False for a command that may run on another machine, without the files that the configuration names. */
  readonly namedFiles?: boolean;
}

/** Loads the whole configuration. */
export async function loadConfig(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  options: LoadOptions = {},
): Promise<Configuration> {
  return (await loadConfigFile(file, io, options)).configuration;
}

/** Like {@link loadConfig}, for a process that may reload the file. */
export async function loadConfigFile(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  { takesMails = false, namedFiles = true }: LoadOptions = {},
): Promise<LoadedConfig> {
  const load: SettingsFile['load'] = async () => {
    const loaded = await loadConfiguration(file, {
      env: io.env,
      ...(namedFiles ? { check: filesExist } : {}),
    });
    if (!loaded.ok || !takesMails) return loaded;
    return { ...loaded, warnings: loaded.warnings.filter((warning) => warning !== MAILS_WAIT) };
  };
  const loaded = await load();
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  for (const warning of loaded.warnings) io.err(`warning: ${warning}\n`);
  const finish: SettingsFile['finish'] = (document) => changedConfiguration(file, document);
  return { configuration: loaded.configuration, source: { file, document: loaded.document, load, finish } };
}
