// A configuration file for a command: loaded, or every fault as one error; warnings are said once.

import type { Configuration } from '../config/configuration.ts';
import { formatFault } from '../config/fault.ts';
import { loadConfiguration } from '../config/load.ts';
import { MAILS_WAIT } from '../config/warnings.ts';
import type { CommandIo } from './command.ts';
import { ConfigurationError } from './configuration-error.ts';

/**
 * The whole configuration.
 * @param takesMails whether the caller delivers mails where the configuration names no server
 */
export async function loadConfig(
  file: string,
  io: Pick<CommandIo, 'env' | 'err'>,
  { takesMails = false } = {},
): Promise<Configuration> {
  const loaded = await loadConfiguration(file, { env: io.env });
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  for (const warning of loaded.warnings) if (!(takesMails && warning === MAILS_WAIT)) io.err(`warning: ${warning}\n`);
  return loaded.configuration;
}
