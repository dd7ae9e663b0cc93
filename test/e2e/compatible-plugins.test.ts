// A plugin as public ones are (test/compatibility/plugins/keeping) in the real program: its install fails after its first
// commit, or the program is killed in the middle; and more lane workers than its host runs scripts.

import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, ROOT, tempDir, type Up, up } from '../support/longshore.ts';
import { countRows, queryTarget } from '../support/sites.ts';

const USER = '12';
const GENES = 250;
const SITE = 'AlphaDB';
const SCRIPTS = join(ROOT, 'test', 'compatibility', 'plugins', 'keeping');
const APPEND = join(ROOT, 'test', 'fixtures', 'scripts', 'append-rows.ts');
const NAMES = {
  dataCleaning: 'import',
  checkCompatibility: 'check-compatibility',
  dataInstall: 'install-data',
  metaUpdate: 'install-meta',
  uninstall: 'uninstall',
} as const;
const LANES = ['upload', 'import', 'updateMeta', 'install', 'sharing', 'softDelete', 'hardDelete', 'reconciliation'];

interface Config {
  installer: {
    plugins: Record<string, { scripts: Record<string, { pathOverride: string }> }>;
    lanes?: Record<string, { workerCount?: number }>;
  };
}

/** A service whose gene lists are handled by the plugin; `start` starts it again. */
async function setup(t: Test, change: (config: Config) => void = () => undefined) {
  const dir = await tempDir(t);
  const home = join(dir, 'plugin-home');
  const args = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, args)).stop();
  await mkdir(home);
  await writeFile(join(home, 'rows'), `#!/bin/sh\nexec '${process.execPath}' '${APPEND}' "$@"\n`, { mode: 0o755 });
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const plugin = config.installer.plugins.genelist;
  if (!plugin) throw new Error('no plugin genelist');
  for (const [key, name] of Object.entries(NAMES))
    plugin.scripts[key] = { pathOverride: encodeURI(join(SCRIPTS, `${name}.sh`)) };
  change(config);
  await writeFile(file, stringify(config));
  // Scripts are given this variable of the host.
  process.env.PROJECT_HOME = home;
  t.teardown(() => delete process.env.PROJECT_HOME);
  const start = async () => {
    const app = await up(t, dir, args);
    return { app, api: new Api(app.endpoints.installer, await app.token(USER)) };
  };
  const upload = (api: Api) =>
    api.upload(detailsOf('genelist', { installTargets: [SITE] }), [{ name: 'genes.txt', content: geneList(GENES) }]);
  const afterCommit = (text: string) => writeFile(join(home, 'then'), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const free = () => rm(join(home, 'then'));
  const nothingLeft = async (t: Test, id: string): Promise<void> => {
    t.equal(await countRows(dir, SITE, 'appended', id), 0, 'no row');
    t.strictSame(await readdir(join(dir, 'sites', SITE)), [], 'no file');
  };
  return { dir, home, start, upload, afterCommit, free, nothingLeft };
}

/** Dead jobs of the dataset, once there is one or the site knows that it is uninstalled. */
async function deadJobs(dir: string, { endpoints }: Up, dataset: string): Promise<readonly string[]> {
  for (;;) {
    const headers = { 'admin-token': endpoints.adminToken };
    const response = await fetch(`${endpoints.installer}/admin/reports/jobs?state=dead&limit=1000`, { headers });
    const { results } = (await response.json()) as { results: { datasetId: string; lane: string; message?: string }[] };
    const own = results.filter(({ datasetId }) => datasetId === dataset);
    if (own.length > 0) return own.map(({ lane, message }) => `${lane}: ${message}`);
    const text = 'select deleted_status from dataset_install where dataset_id = $1 and target_id = $2';
    const [row] = await queryTarget<{ deleted_status: number }>(dir, SITE, 'controlDb', text, [dataset, SITE]);
    if (row?.deleted_status === 1) return [];
  }
}

/** Resolves when data and metadata are installed. */
async function installed(api: Api, dataset: string): Promise<void> {
  for (;;) {
    const { status } = (await api.json(`/datasets/${dataset}`)) as {
      status: { install?: { data?: { status: string }; meta?: { status: string } }[] };
    };
    const [of] = status.install ?? [];
    if (of?.data?.status === 'complete' && of.meta?.status === 'complete') return;
    if (/fail/.test(`${of?.data?.status} ${of?.meta?.status}`)) throw new Error(JSON.stringify(status));
  }
}

t.test('an install that fails after its first commit is uninstalled with its dataset', async (t) => {
  const { dir, start, upload, afterCommit, free, nothingLeft } = await setup(t);
  await afterCommit('[ "$1" = uninstall ] || { echo "second table refused" > /dev/stderr; exit 1; }');
  const { app, api } = await start();
  const id = await upload(api);
  const watched = await longshore(['watch', id, '--data', dir, '--user', USER]);
  t.match(watched.stdout + watched.stderr, /failed-installation|exit code 1/);
  t.equal(await countRows(dir, SITE, 'appended', id), GENES, 'the rows of its first commit are there');
  t.strictSame(await readdir(join(dir, 'sites', SITE, id)), ['install.json']);
  await free();
  t.equal(await api.send('DELETE', `/datasets/${id}`), 204);
  t.strictSame(await deadJobs(dir, app, id), [], 'no dead job');
  await nothingLeft(t, id);
  await app.stop();
});

t.test('three kills in a row, in an install, in its uninstall and in the next install, leave nothing', async (t) => {
  const { dir, home, start, upload, afterCommit, free, nothingLeft } = await setup(t);
  const began = join(home, 'began');
  execFileSync('mkfifo', [began, join(home, 'go')]);
  await afterCommit(`echo "$1" >'${began}'; read line <'${join(home, 'go')}'`);
  let id = '';
  for (const where of ['install', 'uninstall', 'install']) {
    const { app, api } = await start();
    const listening = open(began, 'r');
    if (id === '') id = await upload(api);
    const told = await listening;
    t.equal((await told.readFile('utf8')).trim(), where);
    await told.close();
    await app.crash();
    if (where !== 'install') continue;
    t.equal(await countRows(dir, SITE, 'appended', id).catch(() => GENES), GENES);
    // The next is held in its uninstall, then in the install after it.
    await afterCommit(
      `[ -e '${home}/held' ] || [ "$1" = install ] || { : >'${home}/held'; echo "$1" >'${began}'; read line <'${home}/go'; }
[ "$1" = uninstall ] || { echo "$1" >'${began}'; read line <'${home}/go'; }`,
    );
  }
  await free();
  const { app, api } = await start();
  t.equal(await api.send('DELETE', `/datasets/${id}`), 204);
  t.strictSame(await deadJobs(dir, app, id), [], 'no dead job');
  await nothingLeft(t, id);
  await app.stop();
  t.strictSame(processesBelow(dir), []);
});

t.test('lanes with more workers than the own host runs scripts are never refused by it', async (t) => {
  const { start, upload } = await setup(t, ({ installer }) => {
    installer.lanes = Object.fromEntries(LANES.map((lane) => [lane, { ...installer.lanes?.[lane], workerCount: 20 }]));
    const noop = { pathOverride: '/bin/true' };
    const plugin = installer.plugins.genelist;
    if (plugin) Object.assign(plugin.scripts, { dataInstall: noop, metaUpdate: noop, uninstall: noop });
  });
  const { app, api } = await start();
  const ids: string[] = [];
  const worker = async (): Promise<void> => {
    while (ids.length < 200) ids.push(await upload(api));
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  for (const id of ids) await installed(api, id);
  const metrics = await (await fetch(`${app.endpoints.installer}/metrics`)).text();
  t.match(metrics, `longshore_plugin_calls_total{plugin="genelist",call="import",outcome="success"} ${ids.length}\n`);
  t.notMatch(metrics, /front_end="pluginHost",route="\/(?:import|install)/, 'no call goes over HTTP');
  t.notMatch(metrics, /longshore_plugin_calls_total\{.*outcome="unanswered"/);
  t.notMatch(metrics, /longshore_plugin_breaker_open\{.*\} 1/);
  const { status } = (await api.json('/health')) as { status: string };
  t.equal(status, 'healthy');
  await app.stop();
});
