// kill -9 after an install script has loaded its rows and copied its files, but before it ended. Its rows are there, and
// the script would add them again: only an uninstall before the next attempt keeps them from being doubled.

import { execFileSync } from 'node:child_process';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, processesBelow, ROOT, tempDir, up } from '../support/longshore.ts';
import { countRows } from '../support/sites.ts';

const USER = '12';
const GENES = 250;
const TARGETS = ['AlphaDB', 'BetaDB'] as const;
/** The target whose first install is killed; the other's may be anywhere by then. */
const WAITING = TARGETS[0];
const APPEND = join(ROOT, 'test', 'fixtures', 'scripts', 'append-rows.ts');

interface Config {
  installer: { plugins: Record<string, { staging?: boolean; scripts: Record<string, { pathOverride: string }> }> };
}

/** Puts scripts in the place of the gene list's. The first install into one target waits, once all is done. */
async function replaceScripts(dir: string, staging: boolean) {
  const at = { began: join(dir, 'began'), go: join(dir, 'go'), passed: join(dir, 'passed'), calls: join(dir, 'calls') };
  execFileSync('mkfifo', [at.began, at.go]);
  const append = `'${process.execPath}' '${APPEND}'`;
  const scripts = {
    dataInstall: `${append} install "$1" "$2/formatted_gene_list.txt" || exit 1
mkdir "$DATA_FILES" && cp -R "$2"/. "$DATA_FILES"/ || exit 2
if [ "$PROJECT_ID" = ${WAITING} ] && [ ! -e '${at.passed}' ]; then : >'${at.passed}'; echo began >'${at.began}'; read line <'${at.go}'; fi`,
    uninstall: `${append} uninstall "$1" || exit 1`,
    metaUpdate: 'exit 0',
  };
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  const plugin = config.installer.plugins.genelist;
  if (!plugin) throw new Error('no plugin genelist');
  plugin.staging = staging;
  for (const [name, text] of Object.entries(scripts)) {
    const path = join(dir, `${name}.sh`);
    await writeFile(path, `#!/bin/sh\necho "${name} $PROJECT_ID" >>'${at.calls}'\n${text}\n`, { mode: 0o755 });
    plugin.scripts[name] = { pathOverride: path };
  }
  await writeFile(file, stringify(config));
  return at;
}

for (const staging of [true, false])
  t.test(`an install that was killed after its work is not doubled, ${staging ? 'staged' : 'in place'}`, async (t) => {
    const dir = await tempDir(t);
    const base = String(await freePortBase());
    await (await up(t, dir, ['--port-base', base])).stop();
    const fifo = await replaceScripts(dir, staging);

    const app = await up(t, dir, ['--port-base', base]);
    const api = new Api(app.endpoints.installer, await app.token(USER));
    const began = open(fifo.began, 'r');
    const id = await api.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: geneList(GENES) }]);
    // To its end: a reader that leaves before would end the script that writes.
    const told = await began;
    await told.readFile();
    await told.close();
    t.equal(await countRows(dir, WAITING, 'appended', id), GENES, 'its rows are there');
    const left = staging ? [`.owner-${id}`, `.staging-${id}`] : [id];
    t.strictSame((await readdir(join(dir, 'sites', WAITING))).sort(), left.sort(), 'and its files');
    await app.crash();

    const again = await up(t, dir, ['--port-base', base]);
    const watched = await longshore(['watch', id, '--data', dir, '--user', USER]);
    t.equal(watched.stdout, 'installed\n', watched.stderr);
    for (const site of TARGETS) {
      t.equal(await countRows(dir, site, 'appended', id), GENES, `rows of ${site}`);
      t.strictSame(await readdir(join(dir, 'sites', site)), [id], `files of ${site}`);
      t.strictSame((await readdir(join(dir, 'sites', site, id))).sort(), ['formatted_gene_list.txt', 'vdi-meta.json']);
    }
    const calls = (await readFile(fifo.calls, 'utf8')).split('\n').filter((call) => call.endsWith(` ${WAITING}`));
    t.strictSame(
      calls.filter((call) => !call.startsWith('metaUpdate')),
      ['dataInstall', 'uninstall', 'dataInstall'].map((name) => `${name} ${WAITING}`),
    );
    await again.stop();
    t.strictSame(processesBelow(dir), []);
  });
