// The commands of README and docs/services.md, run as they stand there, with only directory, port and id replaced; and the
// picture of the tree in docs/architecture.md against what runs. Blocks that other tests run are in test/support/command-blocks.ts.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { freePortBase, ROOT, tempDir } from '../support/longshore.ts';
import { shellSession } from '../support/shell-session.ts';

const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const architecture = await readFile(join(ROOT, 'docs', 'architecture.md'), 'utf8');

t.test('the first screen names the two commands that must always work', async (t) => {
  const firstScreen = readme.split('\n').slice(0, 24).join('\n');
  t.match(firstScreen, 'npm ci && npm run demo');
  t.match(firstScreen, 'npm ci && npm test');
});

t.test('every script that the README names is one of package.json', async (t) => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...readme.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g)].map(([, a, b]) => a ?? b);
  t.ok(named.length >= 5);
  for (const name of named) t.ok(name !== undefined && name in scripts, `npm run ${name}`);
});

t.test('start, client commands, curl and handler jobs work as printed, and the picture shows what runs', async (t) => {
  const dir = await tempDir(t);
  const base = await freePortBase();
  const data = join(dir, 'data');
  const here = (block: string): string =>
    block
      .replaceAll(/\/tmp\/(longshore)?/g, (_, isData?: string) => (isData ? data : `${dir}/`))
      .replaceAll('8080', String(base))
      .replaceAll('8081', String(base + 1));

  const session = shellSession(t, here(commandBlock('start')), dir);
  await session.until(/^ready\b/);

  const script = here(`${commandBlock('client')}\n${commandBlock('curl')}`)
    .replaceAll(/ ID\b/g, ' "$ID"')
    .replaceAll('upload.zip', join(dir, 'upload.zip'))
    // The page leaves it to the reader to copy the id that the upload printed.
    .replace(/^longshore upload/m, 'ID=$(longshore upload')
    .replace(/--watch$/m, '--watch)');
  const stdout = await runCommands(script);
  t.match(stdout, /installed {2}My genes/);
  t.match(stdout, /"datasetId":"\w{16}"/);
  t.equal((await readFile(join(dir, 'upload.zip'))).subarray(0, 2).toString(), 'PK');

  t.match(await runCommands(here(commandBlock('handler'))), /"status":"job completed"/);
  const listed = await runCommands('tar tzf result.tgz', { cwd: dir });
  t.same(listed.trim().split('\n').sort(), ['datafiles/genes.txt', 'dataset.json', 'meta.json']);

  const children = await childrenOf(`http://127.0.0.1:${base}`);
  t.ok(children.length > 10, 'the tree is told by its metrics');
  t.match(architecture, /^`longshore up` has one more, before all others: `sampleScripts`/m);
  t.same(['sampleScripts', ...drawnChildren()], children);
  await session.interrupt();
  t.ok(session.said.includes('stopped'));
});

/** Not part of `longshore up`. */
const OFF = '[restService.webhooks.enabled]';

/** The supervisor's children in the order of the picture: names stand alone, two blanks before what is said of them. */
function drawnChildren(): readonly string[] {
  const [, picture = ''] = /^```\nlongshore\n([\s\S]*?)^```$/m.exec(architecture) ?? [];
  return picture.split('\n').flatMap((line) => {
    const [, names = ''] = /^[│├└][─ ]+(.*)$/.exec(line) ?? [];
    if (names.includes(OFF)) return [];
    return names
      .split(/ {3,}|\[/)[0]
      ?.split(/ +/)
      .filter((name) => /^[a-z][A-Za-z]+$/.test(name)) as string[];
  });
}

/** In the order in which they start: as the metric of their restarts is registered. */
async function childrenOf(server: string): Promise<readonly string[]> {
  const metrics = await (await fetch(`${server}/metrics`)).text();
  return [...metrics.matchAll(/^longshore_supervisor_restarts_total\{child="(\w+)"\}/gm)].map(([, name = '']) => name);
}
