// `longshore sample-script`: one script of a sample plugin, started by its launchers, not by people. Standard output goes to
// the owner of the dataset, standard error to the operator.

import { isScriptKind, runSample, SCRIPT_KINDS } from '../../config/samples/run-sample.ts';
import type { SampleIo } from '../../config/samples/sample.ts';
import { isSampleName, SAMPLE_NAMES } from '../../config/samples/samples.ts';
import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import { type Command, type CommandIo, EXIT, UsageError } from '../cli/command.ts';

export const sampleScript: Command = {
  name: 'sample-script',
  usage: 'longshore sample-script NAME KIND ARG..',
  options: {},
  async run(args, io) {
    const [name = '', kind = '', ...rest] = args;
    if (!isSampleName(name)) throw new UsageError(`sample '${name}' must be one of ${SAMPLE_NAMES.join(', ')}`);
    if (!isScriptKind(kind))
      throw new UsageError(`script '${kind}' must be one of ${Object.keys(SCRIPT_KINDS).join(', ')}`);
    const expected = SCRIPT_KINDS[kind];
    if (rest.length !== expected.length || rest.includes(''))
      throw new UsageError(`${kind} needs ${expected.length} arguments (${expected.join(' ')}), not ${rest.length}`);

    let database: Promise<Postgres> | undefined;
    const sample: SampleIo = {
      dataFiles: io.env.DATA_FILES ?? '',
      say: (line) => io.out(`${line}\n`),
      log: (line) => io.err(`${line}\n`),
      database: () => {
        database ??= openDatabase(io.env);
        return database;
      },
      signal: io.signal,
    };
    try {
      const exit = await runSample(name, kind, rest, process.stdin, sample);
      return exit === 99 ? EXIT.refusedData : exit;
    } finally {
      await (await database?.catch(() => undefined))?.[Symbol.asyncDispose]();
    }
  },
};

/**
 * Connects to the data DB named by the variables of the plugin protocol. The driver is loaded on demand: most scripts need
 * none.
 */
async function openDatabase(env: CommandIo['env']): Promise<Postgres> {
  const value = (name: string): string => {
    const text = env[name];
    if (text === undefined || text === '') throw new Failure('defect', `${name} is not set`);
    return text;
  };
  if (value('DB_PLATFORM').toLowerCase() !== 'postgres')
    throw new Failure('defect', `DB_PLATFORM '${env.DB_PLATFORM}': the sample plugins need Postgres`);
  const [{ Postgres }, { silentLogger }] = await Promise.all([
    import('../../engine/adapters/postgres/postgres.ts'),
    import('../../engine/runtime/log.ts'),
  ]);
  return new Postgres(
    {
      host: value('DB_HOST'),
      port: Number(value('DB_PORT')),
      user: value('DB_USER'),
      password: value('DB_PASS'),
      database: value('DB_NAME'),
      schema: env.DB_SCHEMA || value('DB_USER'),
      poolSize: 1,
      idleTimeoutMs: 10_000,
      applicationName: 'longshore-sample',
    },
    silentLogger(),
  );
}
