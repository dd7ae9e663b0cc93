// `longshore query run`: searches databases for sequences, and stores the result as a query job for reports.

import { loadConfiguration } from '../../config/load.ts';
import type { ReportConfiguration } from '../../config/schema/root.ts';
import { formatFault } from '../../config/validate.ts';
import { implement, wholeNumber } from '../cli/arguments.ts';
import { type Command, type CommandIo, ConfigurationError, EXIT, UsageError } from '../cli/command.ts';
import { runQuery } from '../cli/query-run.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { QUERY_RUN } from '../cli/tree/machine.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

const MAX_NUMBER = 2_147_483_647;

export const runSearch: Command = implement(QUERY_RUN, async ({ values }, io) => {
  const { data, config, program, db: databases, query } = values;
  if (databases.includes('')) throw new UsageError("--db '': must be the name or the path of a database");
  if (data !== undefined && config !== undefined) throw new UsageError('--data and --config cannot be combined');
  const most = values['max-target-seqs'];
  const maxTargetSequences = most === undefined ? undefined : wholeNumber('max-target-seqs', most, 1, MAX_NUMBER);
  const section = await reportSection(config ?? dataDir(data ?? defaultDataPath(process.getuid?.())).config, io);
  const run = { program, databases, query, maxTargetSequences, path: io.env.PATH ?? '' };
  const id = await runQuery(section, { ...run, onStderr: (line) => io.err(`${line}\n`) }, io.signal);
  io.out(values.json ? jsonLine({ queryJobId: id }) : `${id}\n`);
  return EXIT.ok;
});

/** A machine that only searches needs only this section of the configuration. */
async function reportSection(file: string, { env }: Pick<CommandIo, 'env'>): Promise<ReportConfiguration> {
  const loaded = await loadConfiguration(file, { env, sections: ['report'] });
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  const { report } = loaded.configuration;
  if (!report)
    throw new ConfigurationError(`${file}: the section 'report' is missing; it sets the directory of query jobs`);
  return report;
}
