// The first command of the README in a copy of the sources and nothing else, as somebody enters it who has just cloned them;
// only directory and port are replaced. Then the web console, with and without its build.

import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t from 'tap';
import { commandBlock } from '../support/command-blocks.ts';
import { freePortBase, processesBelow, ROOT, tempDir } from '../support/longshore.ts';
import { shellSession } from '../support/shell-session.ts';

/** What a clone does not have (.gitignore). */
const NOT_CLONED = new Set(['node_modules', '.tap', 'coverage', 'dist', 'built', '.git']);

t.test('the demo runs from nothing but the sources, and Ctrl-C ends it', async (t) => {
  const dir = await tempDir(t);
  const [sources, data] = [join(dir, 'longshore'), join(dir, 'data')];
  await cp(ROOT, sources, { recursive: true, filter: (path) => !NOT_CLONED.has(basename(path)) });
  t.notOk((await readdir(sources)).includes('node_modules'));

  const [line = ''] = commandBlock('newcomer').split('\n');
  t.match(line, /^npm ci && npm run demo +#/);
  const session = shellSession(
    t,
    line.replace('npm run demo', `npm run demo -- --data ${data} --port-base ${await freePortBase()}`),
    dir,
    { cwd: sources },
  );
  await session.until(/^press Ctrl-C to stop$/);
  const said = session.said.join('\n');
  for (const target of ['AlphaDB', 'BetaDB']) t.match(said, new RegExp(`^${target}: files .*, \\d+ rows in `, 'm'));
  const { installer } = JSON.parse(await readFile(join(data, 'endpoints.json'), 'utf8')) as { installer: string };
  t.match(await (await fetch(installer)).text(), '<div id="console">', 'npm ci built the console');
  // As after `npm ci --ignore-scripts`.
  await rm(join(sources, 'clients', 'console', 'built'), { recursive: true });
  const page = await fetch(installer);
  t.equal(page.status, 503);
  t.equal(
    await page.text(),
    'The web console is not built. Run `npm run build:console` in the checkout, then reload this page.\n',
  );
  await session.interrupt();
  t.ok(session.said.includes('stopped'));
  t.same(processesBelow(dir), []);
});
