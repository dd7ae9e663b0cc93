// A configuration file for a command: loaded, or every fault as one error; warnings are said once.

import type { Configuration } from '../config/configuration.ts';
import { formatFault } from '../config/fault.ts';
import { loadConfiguration } from '../config/load.ts';
import type { CommandIo } from './command.ts';
import { ConfigurationError } from './configuration-error.ts';

/** The whole configuration. */
export async function loadConfig(file: string, io: Pick<CommandIo, 'env' | 'err'>): Promise<Configuration> {
  const loaded = await loadConfiguration(file, { env: io.env });
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  for (const warning of loaded.warnings) io.err(`warning: ${warning}\n`);
  return loaded.configuration;
}
