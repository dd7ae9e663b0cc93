// Two and ten targets on one data schema in the real program, with a plugin whose rows have a primary key and that keeps in
// DATA_FILES what its uninstall needs (test/compatibility/plugins/keeping): a dataset's rows are there once while any target
// has it, and none afterwards, through a revision, a deletion that stops half-way, and kills.

import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, ROOT, tempDir, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';
import { countRows, queryTarget } from '../support/sites.ts';

const USER = '12';
const [GENES, NEW_GENES] = [250, 120];
const FILES = ['genes.txt', 'install.json', 'meta.json', 'vdi-meta.json'];
const SCRIPTS = join(ROOT, 'test', 'compatibility', 'plugins', 'keeping');
const KEYED = join(ROOT, 'test', 'fixtures', 'scripts', 'keyed-rows.ts');
const NAMES = {
  dataCleaning: 'import',
  checkCompatibility: 'check-compatibility',
  dataInstall: 'install-data',
  metaUpdate: 'install-meta',
  uninstall: 'uninstall',
} as const;
const TWO = ['AlphaDB', 'BetaDB'];
const TEN = [...TWO, ...Array.from({ length: 8 }, (_, i) => `Site${i + 3}DB`)];

interface Target {
  targetId: string;
  controlDb: { schema: string };
  dataDb: { schema: string };
}

interface Config {
  installer: {
    plugins: Record<string, { scripts: Record<string, { pathOverride: string }> }>;
    installTargets: Target[];
  };
}

/** A service with the targets, all on the data schema of the first; `start` starts it again. */
async function setup(t: Test, sites: readonly string[], { oneControlSchema = false } = {}) {
  const dir = await tempDir(t);
  const home = join(dir, 'plugin-home');
  const args = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, args)).stop();
  await mkdir(home);
  const hold = join(home, 'hold');
  await writeFile(
    join(home, 'rows'),
    `#!/bin/sh
[ ! -p '${hold}' ] || [ "$1" = install ] || { echo held >'${hold}'; read line <'${home}/go'; }
exec '${process.execPath}' '${KEYED}' "$@"\n`,
    { mode: 0o755 },
  );
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const plugin = config.installer.plugins.genelist;
  const [first] = config.installer.installTargets;
  if (!plugin || !first) throw new Error('no plugin genelist, or no target');
  for (const [key, name] of Object.entries(NAMES))
    plugin.scripts[key] = { pathOverride: encodeURI(join(SCRIPTS, `${name}.sh`)) };
  config.installer.installTargets = sites.map((targetId) => ({
    ...first,
    targetId,
    controlDb: { ...first.controlDb, ...(oneControlSchema ? {} : { schema: `${targetId.toLowerCase()}_control` }) },
  }));
  await writeFile(file, stringify(config));
  // Scripts are given this variable of the host.
  process.env.PROJECT_HOME = home;
  t.teardown(() => delete process.env.PROJECT_HOME);
  const start = async () => {
    const app = await up(t, dir, args);
    return { app, api: new Api(app.endpoints.installer, await app.token(USER)) };
  };
  const filesOn = async (site: string, id: string): Promise<readonly string[]> =>
    (await readdir(join(dir, 'sites', site, id)).catch(() => [])).sort();
  const statusOn = async (site: string, id: string): Promise<string> => {
    const text = `select i.deleted_status || ' ' || coalesce(m.status, '') as said from dataset_install i
      left join dataset_install_message m using (dataset_id, target_id)
      where i.dataset_id = $1 and i.target_id = $2 and coalesce(m.install_type, 'data') = 'data'`;
    return (await queryTarget<{ said: string }>(dir, site, 'controlDb', text, [id, site]))[0]?.said ?? 'nothing';
  };
  /** Rows, and what lies and is said on each target. */
  const stand = async (id: string) => ({
    rows: await countRows(dir, 'AlphaDB', 'keyed', id),
    files: Object.fromEntries(await Promise.all(sites.map(async (site) => [site, await filesOn(site, id)] as const))),
    status: Object.fromEntries(await Promise.all(sites.map(async (site) => [site, await statusOn(site, id)] as const))),
  });
  const on = <Value>(value: Value) => Object.fromEntries(sites.map((site) => [site, value]));
  const everywhere = (rows: number) => ({ rows, files: on(FILES), status: on('0 complete') });
  const nowhere = { rows: 0, files: on<readonly string[]>([]), status: on('1 complete') };
  const upload = (api: Api, genes = GENES) =>
    api.upload(detailsOf('genelist', { installTargets: sites }), [{ name: 'genes.txt', content: geneList(genes) }]);
  return { dir, home, hold, file, start, upload, stand, everywhere, nowhere };
}

for (const [sites, oneControlSchema] of [
  [TWO, false],
  [TEN, true],
] as const)
  t.test(
    `${sites.length} targets: rows are there once while any target has the dataset, and none afterwards`,
    async (t) => {
      const { dir, home, hold, file, start, upload, stand, everywhere, nowhere } = await setup(t, sites, {
        oneControlSchema,
      });
      const checked = await longshore(['config', 'check', file]);
      t.match(checked.stdout, `${sites.join(', ')} share the data schema alphadb_data of 127.0.0.1:`);
      const { app, api } = await start();
      const id = await upload(api);
      await settled(dir);
      t.strictSame(await stand(id), everywhere(GENES), 'installed');

      const details = { origin: 'direct-upload', revisionNote: 'fewer genes' };
      const revision = await api.revise(id, details, [{ name: 'genes.txt', content: geneList(NEW_GENES) }]);
      await settled(dir);
      t.strictSame(await stand(revision), everywhere(NEW_GENES), 'revised');
      t.strictSame(await stand(id), nowhere, 'the old one is gone');

      // The last target's uninstall is held before it removes a row: by then all others are done.
      execFileSync('mkfifo', [hold, join(home, 'go')]);
      t.equal(await api.send('DELETE', `/datasets/${revision}`), 204);
      const held = await open(hold, 'r');
      t.equal((await held.readFile('utf8')).trim(), 'held');
      await held.close();
      const last = sites.at(-1) ?? '';
      t.strictSame(
        await stand(revision),
        {
          rows: NEW_GENES,
          files: { ...nowhere.files, [last]: FILES },
          status: { ...nowhere.status, [last]: '2 complete' },
        },
        'deleted on all targets but one',
      );
      await rm(hold);
      await writeFile(join(home, 'go'), '\n');
      await settled(dir);
      t.strictSame(await stand(revision), nowhere, 'deleted whole');
      await app.stop();
    },
  );

t.test(
  'three kills in a row, and one in the middle of what follows: rows are there once, and none afterwards',
  async (t) => {
    const { dir, home, start, upload, stand, everywhere, nowhere } = await setup(t, TWO);
    const [began, go, then] = ['began', 'go', 'then'].map((name) => join(home, name)) as [string, string, string];
    execFileSync('mkfifo', [began, go]);
    // What the plugin's scripts do after their first commit: say so, and wait for the kill.
    await writeFile(then, `#!/bin/sh\necho "$1" >'${began}'; read line <'${go}'\n`, { mode: 0o755 });
    let id = '';
    // The install of the first target; its uninstall before the next try, twice.
    for (const where of ['install', 'uninstall', 'uninstall']) {
      const { app, api } = await start();
      const listening = open(began, 'r');
      if (id === '') id = await upload(api);
      const told = await listening;
      t.equal((await told.readFile('utf8')).trim(), where);
      await told.close();
      await app.crash();
    }
    await rm(then);
    // And once more when the rows are there: while the second target gets its files, or the metadata are installed.
    const { app } = await start();
    while ((await countRows(dir, 'AlphaDB', 'keyed', id)) === 0);
    await app.crash();
    const last = await start();
    await settled(dir);
    t.strictSame(await stand(id), everywhere(GENES));
    t.equal(await last.api.send('DELETE', `/datasets/${id}`), 204);
    await settled(dir);
    t.strictSame(await stand(id), nowhere);
    for (const site of TWO) t.strictSame(await readdir(join(dir, 'sites', site)), [], `nothing is left on ${site}`);
    await last.app.stop();
    t.strictSame(processesBelow(dir), []);
  },
);

t.test('three kills of a deletion in a row leave nothing', async (t) => {
  const { dir, home, start, upload, stand, everywhere, nowhere } = await setup(t, TWO);
  const first = await start();
  const id = await upload(first.api);
  await settled(dir);
  t.strictSame(await stand(id), everywhere(GENES));
  const [began, go, then] = ['began', 'go', 'then'].map((name) => join(home, name)) as [string, string, string];
  execFileSync('mkfifo', [began, go]);
  await writeFile(then, `#!/bin/sh\necho "$1" >'${began}'; read line <'${go}'\n`, { mode: 0o755 });
  t.equal(await first.api.send('DELETE', `/datasets/${id}`), 204);
  let { app } = first;
  for (let kill = 1; kill <= 3; kill++) {
    const told = await open(began, 'r');
    t.equal((await told.readFile('utf8')).trim(), 'uninstall');
    await told.close();
    t.strictSame((await stand(id)).files, { AlphaDB: [], BetaDB: FILES }, 'the last one is at it');
    await app.crash();
    if (kill === 3) await rm(then);
    ({ app } = await start());
  }
  await settled(dir);
  t.strictSame(await stand(id), nowhere);
  await app.stop();
});
