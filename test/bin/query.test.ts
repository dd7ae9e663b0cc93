import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { query } from '../../bin/commands/query.ts';
import { ConfigurationError } from '../../bin/configuration-error.ts';
import { UsageError } from '../../bin/usage-error.ts';
import { fault } from '../support/run-command.ts';

const messageOf = async (...args: string[]): Promise<unknown> => {
  const [type, , message] = await fault(query, args);
  t.equal(type, UsageError);
  return message;
};

t.test('what is needed is said', async (t) => {
  const some = ['--db', 'n', '--query', 'f'];
  t.equal(await messageOf(), "'run' is needed, and no other word");
  t.equal(await messageOf('run', 'now'), "'run' is needed, and no other word");
  t.equal(
    await messageOf('run', '--program', 'grep', ...some),
    "--program 'grep': one of blastn, blastp, blastx, tblastn, tblastx is needed",
  );
  t.equal(await messageOf('run', '--program', 'blastn', '--query', 'f'), '--db NAME or PATH is needed, once or more');
  t.equal(await messageOf('run', '--program', 'blastn', '--db', 'n'), '--query FILE is needed');
  t.equal(
    await messageOf('run', '--program', 'blastn', ...some, '--data', 'd', '--config', 'c'),
    'only one of --data and --config may be given',
  );
  t.equal(
    await messageOf('run', '--program', 'blastn', ...some, '--max-target-seqs', '0'),
    "--max-target-seqs '0': a whole number from 1 to 2147483647 is needed",
  );
});

t.test('a configuration without reports is refused', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-query-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, 'longshore.yaml');
  await writeFile(file, 'installer: {}\n');
  const [type, , message] = await fault(query, [
    ...['run', '--program', 'blastn', '--db', 'n', '--query', 'f', '--config', file],
  ]);
  t.equal(type, ConfigurationError);
  t.equal(message, `${file}: there is no section 'report', which says where query jobs are`);
});
