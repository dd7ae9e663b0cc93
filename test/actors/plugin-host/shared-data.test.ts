// Two targets on one data schema, by a plugin that keeps in DATA_FILES what its uninstall needs and refuses rows that are
// there (test/compatibility/plugins/keeping). Its scripts write rows for the first target alone.

import { spawnSync } from 'node:child_process';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { PluginHost } from '../../../actors/plugin-host/plugin-host.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { CallOutcome } from '../../../engine/ports/plugin-client.ts';
import type { ScriptRunner } from '../../../engine/ports/script-runner.ts';
import { parseInstallData, parseInstallFiles, parseUninstall } from '../../../http/plugin-host/request-documents.ts';
import { cutOff } from '../../fixtures/cut-off.ts';
import {
  details,
  hostedPlugin,
  metadataJson,
  readTree,
  setupHost,
  TYPE,
  zipIn,
} from '../../http/plugin-host/host-setup.ts';

const signal = new AbortController().signal;
const SCRIPTS = join(import.meta.dirname, '..', '..', 'compatibility', 'plugins', 'keeping');
const ROWS = `#!/bin/sh
set -eu
table="$(dirname "$0")/table"
mkdir -p "$table"
if [ "$1" = install ]; then [ ! -e "$table/$2" ]; cp "$3" "$table/$2"; else rm "$table/$2"; fi
`;
const [ALPHA, BETA] = ['AlphaDB', 'BetaDB'];
const FILES = ['genes.txt', 'install.json', 'vdi-meta.json'];

/** Scripts run to their end before a kill: one in the middle of a script is as one that fails there. */
const atOnce: ScriptRunner = {
  run: async ({ program, args, cwd, env }) => {
    const { status } = spawnSync(program, args, { cwd, env, stdio: 'ignore' });
    return { end: { kind: 'exited', code: status ?? 1 }, stdout: [], stderrTail: '', durationMs: 0 };
  },
};

/** @param reading the scripts read their standard input, which takes the real runner */
async function setup(t: Test, { staging = false, reading = false } = {}) {
  const home = t.testdir({});
  await writeFile(join(home, 'rows'), ROWS, { mode: 0o755 });
  const script = (name: string) => ({ path: join(SCRIPTS, `${name}.sh`), maxDurationMs: 20_000 });
  const { options, site, parts } = await setupHost(t, (options) => ({
    ...options,
    environment: { PATH: '/usr/bin:/bin', PROJECT_HOME: home },
    targets: options.targets.map((target) => ({ ...target, dataSchema: 'sites data' })),
    plugins: options.plugins.map(({ installRoot }) =>
      hostedPlugin(installRoot, {
        staging,
        scripts: {
          dataCleaning: script('import'),
          checkCompatibility: script('check-compatibility'),
          dataInstall: script('install-data'),
          metaUpdate: script('install-meta'),
          uninstall: script('uninstall'),
        },
      }),
    ),
  }));
  const own = reading ? parts : { ...parts, runner: atOnce };
  const at = { host: new PluginHost(options, own) };
  const restart = async (): Promise<void> => {
    at.host = new PluginHost(options, own);
    await at.host.prepare();
  };
  const call = async (run: (workspace: Awaited<ReturnType<PluginHost['workspace']>>) => Promise<CallOutcome>) => {
    await using workspace = await at.host.workspace();
    return (await run(workspace)).kind;
  };
  const body = (target: string) => parseUninstall(JSON.parse(details('one', { 'install-target': target, type: TYPE })));
  return {
    home,
    restart,
    install: (target: string) =>
      call(async (workspace) => {
        const payload = await zipIn(workspace, { 'genes.txt': 'a\nb\n' });
        const request = parseInstallData({
          details: details('one', { 'install-target': target }),
          meta: stringifyJson(metadataJson('one')),
          manifest: '{}',
        });
        return at.host.installData(request, workspace, payload, signal);
      }),
    installFiles: (target: string, source: string, meta = metadataJson('one')) =>
      call((workspace) => {
        const request = details('one', { 'install-target': target, 'source-target': source, meta });
        return at.host.installFiles(parseInstallFiles(request), workspace, signal);
      }),
    uninstall: (target: string) => call((workspace) => at.host.uninstall(body(target), workspace, signal)),
    uninstallFiles: (target: string) => call((workspace) => at.host.uninstallFiles(body(target), workspace, signal)),
    stand: async () => ({
      rows: await readdir(join(home, 'table')).catch(() => []),
      [ALPHA]: Object.keys((await readTree(join(site, 'one'))) ?? {}).sort(),
      [BETA]: Object.keys((await readTree(join(site, '..', BETA, 'one'))) ?? {}).sort(),
    }),
    /** Of both targets, beside what is installed. */
    leftovers: async () => {
      const names = await Promise.all([site, join(site, '..', BETA)].map((dir) => readdir(dir).catch(() => [])));
      return names.flat().filter((name) => name !== 'one');
    },
  };
}

const NOWHERE = { rows: [], [ALPHA]: [], [BETA]: [] };
const EVERYWHERE = { rows: ['one'], [ALPHA]: FILES, [BETA]: FILES };

t.test('the second target gets the files of the first, and the rows go with the last', async (t) => {
  for (const staging of [false, true]) {
    const { install, installFiles, uninstall, uninstallFiles, stand, leftovers } = await setup(t, { staging });
    t.equal(await install(ALPHA), 'valid');
    t.equal(await installFiles(BETA, ALPHA), 'valid');
    t.strictSame(await stand(), EVERYWHERE);
    t.equal(await uninstallFiles(ALPHA), 'done');
    t.strictSame(await stand(), { ...EVERYWHERE, [ALPHA]: [] });
    t.equal(await installFiles(ALPHA, BETA), 'valid');
    t.equal(await uninstallFiles(ALPHA), 'done');
    t.equal(await uninstall(BETA), 'done', 'by what the copy has kept for it');
    t.strictSame(await stand(), NOWHERE);
    t.strictSame(await leftovers(), []);
  }
});

t.test('a host that is killed at any step of a copy can do it again, or take it away', async (t) => {
  for (const then of ['again', 'away'] as const) {
    for (let step = 1, whole = false; !whole; step++) {
      const { install, installFiles, uninstall, uninstallFiles, stand, leftovers, restart } = await setup(t);
      t.equal(await install(ALPHA), 'valid');
      whole = await cutOff(step, async () => {
        await installFiles(BETA, ALPHA);
        await uninstallFiles(BETA);
        await installFiles(BETA, ALPHA);
      });
      await restart();
      t.equal(await uninstallFiles(BETA), 'done');
      t.strictSame(await leftovers(), [], `step ${step}`);
      if (then === 'again') t.equal(await installFiles(BETA, ALPHA), 'valid');
      t.strictSame(await stand(), then === 'again' ? EVERYWHERE : { ...EVERYWHERE, [BETA]: [] }, `step ${step}`);
      if (then === 'again') t.equal(await uninstallFiles(BETA), 'done');
      t.equal(await uninstall(ALPHA), 'done');
      t.strictSame(await stand(), NOWHERE, `step ${step}`);
    }
  }
});

t.test('an uninstall whose script finds the rows gone with those of the other target is none that fails', async (t) => {
  const { install, installFiles, uninstall, stand, restart } = await setup(t);
  t.equal(await install(ALPHA), 'valid');
  t.equal(await installFiles(BETA, ALPHA), 'valid');
  t.equal(await uninstall(ALPHA), 'done');
  await restart();
  t.equal(await uninstall(BETA), 'done', 'the script cannot remove what is not there');
  t.strictSame(await stand(), NOWHERE);
});

t.test('an uninstall that fails where rows may be is a failure, whichever target it is for', async (t) => {
  const { home, install, installFiles, uninstall, stand } = await setup(t);
  t.equal(await install(ALPHA), 'valid');
  t.equal(await uninstall(ALPHA), 'done');
  t.equal(await install(ALPHA), 'valid');
  t.equal(await installFiles(BETA, ALPHA), 'valid');
  await rm(join(home, 'table', 'one'));
  t.equal(await uninstall(BETA), 'script-error');
  t.strictSame((await stand())[BETA], FILES, 'its files stay, for the next uninstall may need them');
});

t.test('dependencies are checked for the second target, too', async (t) => {
  const { install, installFiles, stand } = await setup(t, { reading: true });
  t.equal(await install(ALPHA), 'valid');
  const { dependencies, ...meta } = { ...metadataJson('one', true) } as { dependencies: object[] };
  const missing = dependencies.map((one) => ({ ...one, resourceVersion: 'missing' }));
  t.equal(await installFiles(BETA, ALPHA, { ...meta, dependencies: missing }), 'missing-dependency');
  t.strictSame(await stand(), { ...EVERYWHERE, [BETA]: [] });
});

t.test('files come only from another target of the same data schema', async (t) => {
  const { installFiles } = await setup(t);
  const message = `source-target '${ALPHA}' must be another target with the data schema of '${ALPHA}'`;
  await t.rejects(installFiles(ALPHA, ALPHA), { kind: 'rejected', message });
  await t.rejects(installFiles(ALPHA, 'GammaDB'), {
    kind: 'rejected',
    message: "install-target 'GammaDB' must be one of AlphaDB, BetaDB",
  });
});
