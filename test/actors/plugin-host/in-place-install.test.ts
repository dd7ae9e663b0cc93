// Installs in the final folder, by a plugin that keeps in DATA_FILES what its uninstall needs
// (test/compatibility/plugins/keeping): however an install ended, and wherever a kill came, an uninstall leaves nothing.

import { spawnSync } from 'node:child_process';
import { access, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { PluginHost, type PluginHostOptions } from '../../../actors/plugin-host/plugin-host.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { ScriptRunner } from '../../../engine/ports/script-runner.ts';
import { parseInstallData, parseTarget, parseUninstall } from '../../../http/plugin-host/request-documents.ts';
import { cutOff } from '../../fixtures/cut-off.ts';
import {
  details,
  hostedPlugin,
  metadataJson,
  putFile,
  setupHost,
  TYPE,
  zipIn,
} from '../../http/plugin-host/host-setup.ts';

const signal = new AbortController().signal;
const SCRIPTS = join(import.meta.dirname, '..', '..', 'compatibility', 'plugins', 'keeping');
/** The table is a folder: a file for each row. `add` is not idempotent: it refuses rows that are there. */
const ROWS = `#!/bin/sh
set -eu
table="$(dirname "$0")/table"
mkdir -p "$table"
if [ "$1" = install ]; then [ ! -e "$table/$2" ]; cp "$3" "$table/$2"; else rm -f "$table/$2"; fi
`;

async function setup(
  t: Test,
  change: (options: PluginHostOptions) => PluginHostOptions = (options) => options,
  runner?: ScriptRunner,
) {
  const home = t.testdir({});
  await writeFile(join(home, 'rows'), ROWS, { mode: 0o755 });
  const script = (name: string, maxDurationMs = 20_000) => ({ path: join(SCRIPTS, `${name}.sh`), maxDurationMs });
  const { options, site, host, metrics, parts } = await setupHost(t, (options) =>
    change({
      ...options,
      environment: { PATH: '/usr/bin:/bin', PROJECT_HOME: home },
      plugins: options.plugins.map(({ installRoot }) =>
        hostedPlugin(installRoot, {
          staging: false,
          scripts: {
            dataCleaning: script('import'),
            checkCompatibility: script('check-compatibility'),
            dataInstall: script('install-data'),
            metaUpdate: script('install-meta'),
            uninstall: script('uninstall'),
          },
        }),
      ),
    }),
  );
  const own = runner ? { ...parts, runner } : parts;
  const at = { host: runner ? new PluginHost(options, own) : host };
  /** Another host in the place of one that was killed. */
  const restart = async (): Promise<void> => {
    at.host = new PluginHost(options, own);
    await at.host.prepare();
  };
  /** Its details have come in. */
  const expect = (dataset: string) =>
    at.host.expectInstall(parseTarget(details(dataset, { 'install-target': 'AlphaDB' })));
  const install = async (dataset: string, dependency?: string) => {
    await using workspace = await at.host.workspace();
    const payload = await zipIn(workspace, { 'genes.txt': 'a\nb\n' });
    const meta = { ...metadataJson(dataset, dependency !== undefined) } as { dependencies: object[] };
    if (dependency !== undefined)
      meta.dependencies = meta.dependencies.map((one) => ({ ...one, resourceVersion: dependency }));
    const request = parseInstallData({
      details: details(dataset, { 'install-target': 'AlphaDB' }),
      meta: stringifyJson(meta),
      manifest: '{}',
    });
    return (await at.host.installData(request, workspace, payload, signal)).kind;
  };
  const uninstall = async (dataset: string) => {
    await using workspace = await at.host.workspace();
    const body = JSON.parse(details(dataset, { 'install-target': 'AlphaDB', type: TYPE }));
    return (await at.host.uninstall(parseUninstall(body), workspace, signal)).kind;
  };
  const left = async () => ({
    rows: await readdir(join(home, 'table')).catch(() => []),
    files: await readdir(site).catch(() => []),
  });
  const afterCommit = (text: string): Promise<void> =>
    writeFile(join(home, 'then'), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return { home, site, expect, install, uninstall, left, afterCommit, restart, metrics, options };
}

/** Scripts run to their end before a kill: one in the middle of a script is as one that fails there. */
const atOnce: ScriptRunner = {
  run: async ({ program, args, cwd, env }) => {
    const { status } = spawnSync(program, args, { cwd, env, stdio: 'ignore' });
    return { end: { kind: 'exited', code: status ?? 1 }, stdout: [], stderrTail: '', durationMs: 0 };
  },
};

const NOTHING = { rows: [], files: [] };

t.test('what a failed install left stays, and its uninstall finds it', async (t) => {
  const { install, uninstall, left, afterCommit, site, home } = await setup(t);
  await afterCommit('echo "second table refused" >&2; exit 1');
  t.equal(await install('one'), 'script-error');
  t.strictSame(await left(), { rows: ['one'], files: ['one'] });
  t.strictSame(await readdir(join(site, 'one')), ['install.json']);
  await rm(join(home, 'then'));
  t.equal(await install('one'), 'server-error', 'not over it');
  t.equal(await uninstall('one'), 'done');
  t.strictSame(await left(), NOTHING);
  t.equal(await install('one'), 'valid');
  t.strictSame((await readdir(join(site, 'one'))).sort(), ['genes.txt', 'install.json', 'vdi-meta.json']);
  t.equal(await uninstall('one'), 'done');
  t.strictSame(await left(), NOTHING);
});

t.test('a host that is killed at any step of an install or an uninstall can uninstall afterwards', async (t) => {
  for (const failing of [false, true]) {
    for (let step = 1, whole = false; !whole; step++) {
      const { expect, install, uninstall, left, afterCommit, restart } = await setup(t, undefined, atOnce);
      if (failing) await afterCommit('[ "$1" = uninstall ] || exit 1');
      await expect('one');
      whole = await cutOff(step, async () => {
        await install('one');
        await uninstall('one');
      });
      await restart();
      for (const time of ['first', 'second'])
        t.equal(await uninstall('one'), 'done', `${time} uninstall after step ${step}, failing: ${failing}`);
      t.strictSame(await left(), NOTHING, `step ${step}, failing: ${failing}`);
      if (failing) continue;
      t.equal(await install('one'), 'valid');
      t.equal(await uninstall('one'), 'done');
      t.strictSame(await left(), NOTHING);
    }
  }
});

t.test('three kills in a row end in a clean uninstall, wherever they come', async (t) => {
  for (const steps of [
    [1, 1, 1],
    [3, 2, 1],
    [5, 3, 3],
    [7, 5, 2],
    [9, 1, 5],
    [11, 7, 3],
  ]) {
    const { expect, install, uninstall, left, restart } = await setup(t, undefined, atOnce);
    const [first = 1, second = 1, third = 1] = steps;
    await expect('one');
    await cutOff(first, () => install('one'));
    await restart();
    await cutOff(second, () => uninstall('one'));
    await restart();
    await cutOff(third, () => uninstall('one'));
    await restart();
    t.equal(await uninstall('one'), 'done', steps.join());
    t.strictSame(await left(), NOTHING, steps.join());
  }
});

t.test('an install that never got to its script needs no file for its uninstall', async (t) => {
  const { install, uninstall, left } = await setup(t);
  t.equal(await install('one', 'missing'), 'missing-dependency');
  t.equal(await uninstall('one'), 'done');
  t.equal(await uninstall('one'), 'done');
  const unstarted = await setup(t, (options) => ({
    ...options,
    plugins: options.plugins.map((plugin) => ({
      ...plugin,
      scripts: { ...plugin.scripts, dataInstall: { path: '/nowhere/install', maxDurationMs: 1_000 } },
    })),
  }));
  t.equal(await unstarted.install('one'), 'server-error');
  t.equal(await unstarted.uninstall('one'), 'done');
  t.strictSame([await left(), await unstarted.left()], [NOTHING, NOTHING]);
});

t.test('where something may be installed, an uninstall that fails is a failure', async (t) => {
  const { install, uninstall, left, site, home, afterCommit } = await setup(t);
  t.equal(await uninstall('unknown'), 'script-error', 'whoever installed it, it was not seen here');
  t.equal(await install('one'), 'valid');
  await rm(join(site, 'one'), { recursive: true });
  t.equal(await uninstall('one'), 'script-error', 'its rows are there');
  await mkdir(join(site, 'one'));
  await putFile(join(site, 'one', 'install.json'), '{"dataset":"one"}');
  await afterCommit('exit 1');
  t.equal(await uninstall('one'), 'script-error');
  await rm(join(home, 'then'));
  t.equal(await uninstall('one'), 'done');
  t.strictSame(await left(), NOTHING);
});

t.test('what is remembered of datasets that are gone is forgotten in the end', async (t) => {
  const { install, uninstall, options, restart } = await setup(t);
  for (const dataset of ['old', 'new']) {
    await install(dataset);
    await uninstall(dataset);
  }
  const long = Date.now() / 1000 - 91 * 24 * 3600;
  await utimes(join(options.marksDir, 'AlphaDB', 'old'), long, long);
  await restart();
  t.strictSame(await readdir(join(options.marksDir, 'AlphaDB')), ['new']);
  await t.rejects(access(join(options.marksDir, 'AlphaDB', 'old')));
});
