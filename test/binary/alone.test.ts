// The executable copied to an empty directory, run by a plain user without any environment.

import { readdir } from 'node:fs/promises';
import t from 'tap';
import { allCommands, COMMANDS } from '../../bin/cli/command-table.ts';
import { sentence } from '../../bin/cli/help.ts';
import { VERSION } from '../../bin/cli/version.ts';
import { plainUser } from './plain-user.ts';

t.test('it tells its commands, its version, its commit and the date of that', async (t) => {
  const user = await plainUser(t);
  const help = await user.run(['--help']);
  t.match(help, { code: 0, stderr: '' });
  const named = [...help.stdout.matchAll(/^ {2}(\S+) {2,}\S/gm)].map(([, name]) => name);
  t.strictSame(named, Object.keys(COMMANDS));
  const version = await user.run(['--version']);
  t.match(version, { code: 0, stderr: '' });
  t.match(
    version.stdout,
    new RegExp(`^${VERSION} \\(commit [0-9a-f]{40}(-changed)?, \\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z\\)\\n$`),
  );
  t.strictSame(await readdir(user.dir), [], 'and leaves nothing behind');
});

t.test('every command is inside', async (t) => {
  const user = await plainUser(t);
  for (const { name, spec } of allCommands()) {
    const { code, stdout, stderr } = await user.run([...name.split(' '), '--help']);
    t.strictSame([code, stderr], [0, ''], name);
    t.match(stdout, `usage: longshore ${name}`);
    t.match(stdout.replaceAll(/\s+/g, ' '), sentence(spec.summary), 'in lines of 80');
  }
});

t.test('commands say what they miss as they do from source', async (t) => {
  const user = await plainUser(t);
  t.match(await user.run(['query', 'run']), { code: 2, stderr: /^longshore query run: --program NAME is required/ });
  t.match(await user.run(['doctor', '--config', 'missing.yaml']), { code: 3, stderr: /missing\.yaml/ });
  t.match(await user.run(['migrate', '--config', 'missing.yaml']), { code: 3, stderr: /missing\.yaml/ });
  t.match(await user.run(['nonsense']), { code: 2, stderr: /unknown command 'nonsense'/ });
  const schema = await user.run(['config', 'schema']);
  t.match(JSON.parse(schema.stdout), { $schema: 'https://json-schema.org/draft/2020-12/schema' });
});

t.test('an up for which there is no PostgreSQL says what to do', async (t) => {
  const user = await plainUser(t);
  const { code, stderr } = await user.run(['up', '--data', 'data', '--postgres-bin', '/nonexistent']);
  t.equal(code, 1);
  t.match(
    stderr,
    'no usable PostgreSQL programs (/nonexistent: spawn /nonexistent/initdb ENOENT); use another directory with --postgres-bin',
  );
});
