// `doctor` on the installation that `up` makes: while it runs, when it has ended, and when its file has a fault.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';

interface Report {
  readonly ok: boolean;
  readonly dependencies: readonly {
    readonly name: string;
    readonly status: string;
    readonly problems: readonly object[];
  }[];
}

t.test('doctor finds nothing wrong with what up started, and says what is missing when it has ended', async (t) => {
  const dir = await tempDir(t);
  const running = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const args = ['doctor', '--config', join(dir, 'config.yaml')];
  const well = await longshore([...args, '--json']);
  t.equal(well.code, 0, well.stdout);
  const { ok, dependencies } = JSON.parse(well.stdout) as Report;
  t.ok(ok);
  t.strictSame(
    dependencies.filter(({ status }) => status === 'failed'),
    [],
  );
  t.strictSame(
    dependencies.map(({ name }) => name),
    [
      'cache database, report database, access database',
      'target AlphaDB control, target BetaDB control',
      'target AlphaDB data, target BetaDB data',
      'object store',
      ...['genelist', 'isasimple', 'biom', 'rnaseq', 'lightweight'].map((name) => `plugin ${name}`),
      'handler commands',
      'BLAST+',
      'scratch folder',
      'query jobs',
      'install root',
      'machine',
    ],
  );
  t.equal(await running.stop(), 0);
  const before = await readdir(dir, { recursive: true });
  const ended = await longshore(args);
  t.equal(ended.code, 4, ended.stdout);
  t.match(
    ended.stdout,
    /^FAILED {3}cache database, report database, access database .*\n {2}problem: .*ECONNREFUSED.*\n {2}fix: {5}nothing is listening there: start PostgreSQL/m,
  );
  t.match(ended.stdout, /\n\d+ checked: \d+ ok, \d+ with a warning, 3 failed\n$/);
  t.strictSame(await readdir(dir, { recursive: true }), before, 'nothing was made');

  const config = join(dir, 'config.yaml');
  await writeFile(config, (await readFile(config, 'utf8')).replace('siteBuild:', 'sitebuild:'));
  t.match(await longshore(args), { code: 3, stdout: '', stderr: /did you mean 'siteBuild'/ });
});

t.test('doctor wants a file', async (t) => {
  t.match(await longshore(['doctor']), {
    code: 2,
    stderr: /--config FILE is required[\s\S]*usage: longshore doctor --config FILE/,
  });
});
