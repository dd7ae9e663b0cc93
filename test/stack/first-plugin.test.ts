// Every step of docs/first-plugin.md, as the page has it, with only the folder and the ports replaced.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { freePortBase, longshore, ROOT, tempDir } from '../support/longshore.ts';
import { blocks } from '../support/readmes.ts';
import { shellSession } from '../support/shell-session.ts';

const FILE = 'docs/first-plugin.md';
const page = { file: FILE, text: await readFile(join(ROOT, FILE), 'utf8') };

interface Settings {
  installer: { plugins: Record<string, unknown> };
  pluginHost: { inProcess: string[] };
}

t.test('a plugin of five shell scripts checks a dataset, installs it, and takes it away', async (t) => {
  const dir = await tempDir(t);
  const base = await freePortBase();
  const data = join(dir, 'first');
  const here = (text: string): string =>
    text
      .replaceAll('/tmp/first', data)
      .replaceAll('8080', String(base))
      .replaceAll('8084', String(base + 4));
  const start = async () => {
    const session = shellSession(t, here(commandBlock('place')), dir);
    await session.until(/^ready\b/);
    return session;
  };

  const first = await start();
  await first.interrupt();

  await runCommands(here(commandBlock('scripts')));
  t.match(await runCommands(here(commandBlock('byHand'))), 'line 2: "tall" is not a number\nexit code 99\n');

  const config = join(data, 'config.yaml');
  const settings = parse(await readFile(config, 'utf8')) as Settings;
  const [added = ''] = blocks(page, 'yaml');
  Object.assign(settings.installer.plugins, parse(here(added)));
  settings.pluginHost.inProcess.push('phenotypes');
  await writeFile(config, stringify(settings));
  t.match(await runCommands(here(commandBlock('checked'))), /: ok, 2 enabled install targets, 6 plugins/);

  const second = await start();
  const told = await runCommands(here(commandBlock('firstInstall')));
  const [, heights = ''] = /^(\w{16})$/m.exec(told) ?? [];
  t.match(told, 'plant 1\t12.5\nplant 2\t14\n');
  t.match(told, /plant 1 +\| +12\.5\n.*plant 2 +\| +14\n\(2 rows\)/);

  const upload = ['upload', join(data, 'try', 'in', 'heights.tsv'), '--type', 'phenotypes@1.0', '--target', 'AlphaDB'];
  const wrong = await longshore([...upload, '--name', 'Words', '--summary', 'Not numbers', '--data', data, '--watch']);
  t.equal(wrong.code, 1);
  t.match(wrong.stdout + wrong.stderr, /line 2: "tall" is not a number/);

  t.equal((await longshore(['datasets', 'delete', heights, '--data', data])).code, 0);
  const rows = here(commandBlock('firstInstall').split('\n').slice(-3).join('\n'));
  while (!(await runCommands(rows)).includes('(0 rows)'));
  await second.interrupt();
});
