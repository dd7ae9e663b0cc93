import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { ConfigurationError, UsageError } from '../../../bin/cli/command.ts';
import { fault } from '../../support/run-command.ts';

t.test('what is needed is said', async (t) => {
  const some = ['--db', 'n', '--query', 'f'];
  const blastn = ['run', '--program', 'blastn'];
  const messages: readonly (readonly [args: readonly string[], message: string])[] = [
    [['run', 'now', ...some], "'now' is not expected here"],
    [['run', ...some], '--program NAME is required: the BLAST+ program'],
    [
      ['run', '--program', 'grep', ...some],
      "--program 'grep': must be one of blastn, blastp, blastx, tblastn, tblastx",
    ],
    [[...blastn, '--query', 'f'], '--db NAME|PATH is required: a BLAST database; several are searched as one'],
    [[...blastn, ...some, '--db', ''], "--db '': must be the name or the path of a database"],
    [[...blastn, '--db', 'n'], '--query FILE is required: a FASTA file of sequences'],
    [[...blastn, ...some, '--data', 'd', '--config', 'c'], '--data and --config cannot be combined'],
    [
      [...blastn, ...some, '--max-target-seqs', '0'],
      "--max-target-seqs '0': must be a whole number from 1 to 2147483647",
    ],
  ];
  for (const [args, message] of messages) t.strictSame(await fault('query', args), [UsageError, undefined, message]);
});

t.test('a configuration without reports is refused', async (t) => {
  const file = join(t.testdir(), 'longshore.yaml');
  await writeFile(file, 'installer: {}\n');
  const [type, , message] = await fault('query', [
    ...['run', '--program', 'blastn', '--db', 'n', '--query', 'f', '--config', file],
  ]);
  t.equal(type, ConfigurationError);
  t.equal(message, `${file}: the section 'report' is missing; it sets the directory of query jobs`);
});
