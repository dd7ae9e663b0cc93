// `longshore access`: what operators of the dataset access service do outside of its API.

import { importCatalogue } from '../access-database.ts';
import { parse } from '../arguments.ts';
import { type Command, EXIT } from '../command.ts';
import { dataDir, defaultDataPath } from '../data-dir.ts';
import { loadConfig } from '../load-config.ts';
import { UsageError } from '../usage-error.ts';

const OPTIONS = { data: { type: 'string' }, config: { type: 'string' } } as const;

export const access: Command = {
  name: 'access',
  summary: 'import curated datasets for the dataset access service',
  usage: 'longshore access import FILE [--data DIR | --config FILE]',
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const [verb, file, ...rest] = positionals;
    if (verb !== 'import' || file === undefined || rest.length > 0)
      throw new UsageError("'import' and one FILE are needed");
    if (values.data !== undefined && values.config !== undefined)
      throw new UsageError('only one of --data and --config may be given');
    const own = dataDir(values.data ?? defaultDataPath(process.getuid?.())).config;
    const configuration = await loadConfig(values.config ?? own, io);
    const { read, changed } = await importCatalogue(configuration, file, io.signal);
    io.out(`${read} datasets read, ${changed} new or changed\n`);
    return EXIT.ok;
  },
};
