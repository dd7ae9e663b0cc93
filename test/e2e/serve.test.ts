// `serve` and `plugin` as separate processes on a PostgreSQL that somebody else runs, set up by `migrate` and
// `migrate-target`.

import { readFile, writeFile } from 'node:fs/promises';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { testDatabase } from '../support/database.ts';
import { longshore, running } from '../support/longshore.ts';
import { servedSite } from '../support/served-site.ts';

t.test('migrate, serve and plugin work together from one file', async (t) => {
  const db = await testDatabase(t);
  const { file, installer } = await servedSite(t, db, db);
  t.same(await longshore(['config', 'check', file]), {
    code: 0,
    stdout: `${file}: ok, 1 enabled install target, 1 plugin\n`,
    stderr: '',
  });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stdout: /^cache database: applied 1, 2, 3/ });
  t.match(await longshore(['migrate', '--config', file]), { code: 0, stdout: 'cache database: up to date\n' });
  t.match(await longshore(['migrate-target', 'SiteA', '--config', file]), {
    code: 0,
    stdout: /^target SiteA: applied 1/,
  });
  t.match(await longshore(['migrate-target', 'SiteB', '--config', file]), { code: 2, stderr: /one of: SiteA/ });

  const plugin = await running(t, ['plugin', '--config', file, '--id', 'genes']);
  const service = await running(t, ['serve', '--config', file]);
  const checked = await longshore(['doctor', '--config', file]);
  t.equal(checked.code, 0, checked.stdout);
  t.match(checked.stdout, /^ok +plugin genes .* GET \/health: version /m);
  const token = (await longshore(['token', '--config', file, '--user', '8'])).stdout.trim();
  const api = new Api(installer, token);
  const id = await api.upload(detailsOf('genelist', { installTargets: ['SiteA'] }), [
    { name: 'genes.txt', content: geneList(20) },
  ]);
  const watched = await longshore(['watch', id, '--server', installer, '--token', token]);
  t.equal(watched.stdout, 'installed\n', watched.stderr);
  t.equal(await service.stop(), 0);
  t.equal(await plugin.stop(), 0);
});

t.test('a database that is not there ends the start with exit code 4', async (t) => {
  const db = await testDatabase(t);
  const { file } = await servedSite(t, db, db);
  t.match(await longshore(['token', '--config', `${file}.missing`, '--user', '1']), { code: 3 });
  t.match(await longshore(['datasets', 'list', '--server', 'http://127.0.0.1:9', '--token', 'x']), { code: 4 });
});

t.test('a plugin host changes its log level at SIGUSR2, and takes over that of the file at SIGHUP', async (t) => {
  const db = await testDatabase(t);
  const { file } = await servedSite(t, db, db);
  const plugin = await running(t, ['plugin', '--config', file, '--id', 'genes']);
  const told = async (pattern: RegExp, signal: NodeJS.Signals): Promise<unknown> =>
    JSON.parse(await plugin.says(pattern, signal));
  t.match(await told(/log level changed/, 'SIGUSR2'), { from: 'info', to: 'debug' });
  const document = parse(await readFile(file, 'utf8')) as { containerCore: object };
  const containerCore = { ...document.containerCore, log: { level: 'warn' } };
  await writeFile(file, stringify({ ...document, containerCore }), { mode: 0o600 });
  t.match(await told(/configuration reloaded/, 'SIGHUP'), {
    applied: [{ path: 'containerCore.log.level', from: 'debug', to: 'warn' }],
    needsRestart: [],
  });
  await writeFile(file, 'no configuration', { mode: 0o600 });
  t.match(await told(/nothing was changed/, 'SIGHUP'), { level: 'error' });
  t.match(await told(/log level changed/, 'SIGUSR2'), { from: 'warn', to: 'info' });
  t.equal(await plugin.stop(), 0);
});
