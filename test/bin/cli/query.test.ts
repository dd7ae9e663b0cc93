import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { ConfigurationError } from '../../../bin/cli/configuration-error.ts';
import { UsageError } from '../../../bin/cli/usage-error.ts';
import { query } from '../../../bin/commands/query.ts';
import { fault } from '../../support/run-command.ts';

t.test('what is needed is said', async (t) => {
  const some = ['--db', 'n', '--query', 'f'];
  const blastn = ['run', '--program', 'blastn'];
  const messages: readonly (readonly [args: readonly string[], message: string])[] = [
    [[], "'run' is needed, and no other word"],
    [['run', 'now'], "'run' is needed, and no other word"],
    [
      ['run', '--program', 'grep', ...some],
      "--program 'grep': one of blastn, blastp, blastx, tblastn, tblastx is needed",
    ],
    [[...blastn, '--query', 'f'], '--db NAME or PATH is needed, once or more'],
    [[...blastn, '--db', 'n'], '--query FILE is needed'],
    [[...blastn, ...some, '--data', 'd', '--config', 'c'], 'only one of --data and --config may be given'],
    [
      [...blastn, ...some, '--max-target-seqs', '0'],
      "--max-target-seqs '0': a whole number from 1 to 2147483647 is needed",
    ],
  ];
  for (const [args, message] of messages) t.strictSame(await fault(query, args), [UsageError, undefined, message]);
});

t.test('a configuration without reports is refused', async (t) => {
  const file = join(t.testdir(), 'longshore.yaml');
  await writeFile(file, 'installer: {}\n');
  const [type, , message] = await fault(query, [
    ...['run', '--program', 'blastn', '--db', 'n', '--query', 'f', '--config', file],
  ]);
  t.equal(type, ConfigurationError);
  t.equal(message, `${file}: there is no section 'report', which says where query jobs are`);
});
