// `longshore query run`: searches databases for sequences, and stores the result as a query job for reports.

import { loadConfiguration } from '../../config/load.ts';
import type { ReportConfiguration } from '../../config/schema/root.ts';
import { formatFault } from '../../config/validate.ts';
import { QUERY_PROGRAMS, type QueryProgram } from '../../engine/model/report/query-job.ts';
import { parse, wholeNumber } from '../cli/arguments.ts';
import { type Command, type CommandIo, ConfigurationError, EXIT, UsageError } from '../cli/command.ts';
import { runQuery } from '../cli/query-run.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

const PROGRAMS = Object.keys(QUERY_PROGRAMS) as readonly QueryProgram[];
const OPTIONS = {
  data: { type: 'string', path: 'directory' },
  config: { type: 'string', path: 'file' },
  program: { type: 'string', values: PROGRAMS },
  db: { type: 'string', multiple: true },
  query: { type: 'string', path: 'file' },
  'max-target-seqs': { type: 'string' },
  json: { type: 'boolean' },
} as const;

const MAX_NUMBER = 2_147_483_647;

export const query: Command = {
  name: 'query',
  usage:
    `longshore query run [--data DIR | --config FILE] --program ${PROGRAMS.join('|')} --db NAME|PATH.. --query FILE ` +
    '[--max-target-seqs N] [--json]',
  options: OPTIONS,
  words: ['run'],
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.join(' ') !== 'run') throw new UsageError("expected 'run' and no other arguments");
    const { data, config, db: databases, query } = values;
    const program = PROGRAMS.find((known) => known === values.program);
    if (!program) throw new UsageError(`--program '${values.program ?? ''}': must be one of ${PROGRAMS.join(', ')}`);
    if (!databases || databases.includes('')) throw new UsageError('at least one --db NAME or PATH is required');
    if (query === undefined) throw new UsageError('--query FILE is required');
    if (data !== undefined && config !== undefined) throw new UsageError('--data and --config cannot be combined');
    const most = values['max-target-seqs'];
    const maxTargetSequences = most === undefined ? undefined : wholeNumber('max-target-seqs', most, 1, MAX_NUMBER);
    const section = await reportSection(config ?? dataDir(data ?? defaultDataPath(process.getuid?.())).config, io);
    const run = { program, databases, query, maxTargetSequences, path: io.env.PATH ?? '' };
    const id = await runQuery(section, { ...run, onStderr: (line) => io.err(`${line}\n`) }, io.signal);
    io.out(values.json ? jsonLine({ queryJobId: id }) : `${id}\n`);
    return EXIT.ok;
  },
};

/** A machine that only searches needs only this section of the configuration. */
async function reportSection(file: string, { env }: Pick<CommandIo, 'env'>): Promise<ReportConfiguration> {
  const loaded = await loadConfiguration(file, { env, sections: ['report'] });
  if (!loaded.ok) throw new ConfigurationError(loaded.faults.map(formatFault).join('\n'));
  const { report } = loaded.configuration;
  if (!report)
    throw new ConfigurationError(`${file}: the section 'report' is missing; it sets the directory of query jobs`);
  return report;
}
