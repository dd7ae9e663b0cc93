// kill -9 of the supervisor in the middle of a script; after a restart everything is as if nothing had happened.
// The script itself says where it is: it waits on a named pipe until the test lets it go, so no timing is involved.

import { execFileSync } from 'node:child_process';
import { chmod, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, tempDir, type Up, up } from '../support/longshore.ts';
import { countRows } from '../support/sites.ts';

const USER = '12';
const GENES = 250;

interface Config {
  installer: { plugins: Record<string, { scripts: Record<string, { pathOverride: string }> }> };
}

/** Makes a script of the genelist plugin wait once: it tells `began`, and goes on when `go` is written to. */
async function gate(dir: string, key: string): Promise<{ began: string; go: string }> {
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const script = config.installer.plugins.genelist?.scripts[key];
  if (!script) throw new Error(`no script ${key}`);
  const at = { began: join(dir, `${key}.began`), go: join(dir, `${key}.go`), passed: join(dir, `${key}.passed`) };
  execFileSync('mkfifo', [at.began, at.go]);
  const gated = join(dir, `${key}.sh`);
  // The second run, after the crash, finds the mark and does not wait.
  await writeFile(
    gated,
    `#!/bin/sh\nif [ ! -e '${at.passed}' ]; then : > '${at.passed}'; echo began > '${at.began}'; read line < '${at.go}'; fi\nexec '${script.pathOverride}' "$@"\n`,
  );
  await chmod(gated, 0o755);
  script.pathOverride = gated;
  await writeFile(file, stringify(config));
  return at;
}

interface State {
  readonly status: unknown;
  readonly files: readonly string[];
  readonly rows: readonly number[];
  readonly keys: readonly string[];
}

/** What must be the same with and without a crash. */
async function stateOf(app: Up, id: string): Promise<State> {
  const api = new Api(app.endpoints.installer, await app.token(USER));
  const { status } = (await api.json(`/datasets/${id}`)) as { status: unknown };
  const files = await Promise.all(
    ['AlphaDB', 'BetaDB'].map(async (target) => {
      const folder = join(app.dir, 'sites', target, id);
      const names = (await readdir(folder)).sort();
      const genes = await readFile(join(folder, 'formatted_gene_list.txt'), 'utf8');
      return `${target}: ${names.join(' ')} ${genes.length}`;
    }),
  );
  const rows = await Promise.all(['AlphaDB', 'BetaDB'].map((target) => countRows(app.dir, target, 'genelist', id)));
  const keys = (await readdir(join(app.dir, 'objects', 'objects', USER, id), { recursive: true })).sort();
  return { status, files, rows, keys };
}

async function install(app: Up): Promise<string> {
  const api = new Api(app.endpoints.installer, await app.token(USER));
  return api.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(GENES) }]);
}

async function undisturbed(t: Test): Promise<State> {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const id = await install(app);
  await longshore(['watch', id, '--data', dir, '--user', USER]);
  const state = await stateOf(app, id);
  await app.stop();
  return state;
}

const expected = undisturbed(t);

for (const [what, key] of [
  ['import', 'dataCleaning'],
  ['install', 'dataInstall'],
] as const)
  t.test(`kill -9 during ${what}: the same final state after a restart, and nothing left behind`, async (t) => {
    const dir = await tempDir(t);
    const base = String(await freePortBase());
    const first = await up(t, dir, ['--port-base', base]);
    await first.stop();
    const fifo = await gate(dir, key);

    const app = await up(t, dir, ['--port-base', base]);
    const began = open(fifo.began, 'r');
    const id = await install(app);
    // To its end: a reader that leaves before would end the script that writes.
    const told = await began;
    await told.readFile();
    await told.close();
    const scripts = processesBelow(dir).filter((pid) => pid !== app.child.pid);
    await app.crash();

    const again = await up(t, dir, ['--port-base', base]);
    const watched = await longshore(['watch', id, '--data', dir, '--user', USER]);
    t.equal(watched.stdout, 'installed\n', watched.stderr);
    t.same(await stateOf(again, id), await expected);
    t.same(
      processesBelow(dir).filter((pid) => scripts.includes(pid)),
      [],
      'no script and no database of the killed supervisor is left',
    );
    await again.stop();
    t.same(processesBelow(dir), []);
  });
