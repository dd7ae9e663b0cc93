// The commands of the README, run as they stand there, with only directory, port, file and id replaced.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { freePortBase, ROOT, tempDir, up } from '../support/longshore.ts';

const run = promisify(execFile);

const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
/** Shell blocks in the order of the page. */
const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text ?? '');

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

t.test('client commands and curl work as printed against a running up', async (t) => {
  const dir = await tempDir(t);
  const base = String(await freePortBase());
  const app = await up(t, dir, ['--port-base', base]);
  const genes = join(dir, 'genes.txt');
  await writeFile(genes, geneList(12));

  const client = blocks.find((block) => block.includes('longshore upload'));
  const handler = blocks.find((block) => block.includes('/job/'));
  const curl = blocks.find((block) => block.includes('curl'));
  t.ok(client && curl && handler, 'the blocks are there');
  const script = `${client}\n${curl}`
    .replaceAll('/tmp/longshore', dir)
    .replaceAll('8080', base)
    .replaceAll(/\bgenes\.txt/g, genes)
    .replaceAll(/ ID\b/g, ' "$ID"')
    .replaceAll('upload.zip', join(dir, 'upload.zip'))
    // The page leaves it to the reader to copy the id that the upload printed.
    .replace(/^longshore upload/m, 'ID=$(longshore upload')
    .replace(/--watch$/m, '--watch)');
  const { stdout } = await run('bash', ['-euc', `shopt -s expand_aliases\n${script}`], {
    cwd: ROOT,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  t.match(stdout, /installed {2}My genes/);
  t.match(stdout, /"datasetId":"\w{16}"/);
  t.equal((await readFile(join(dir, 'upload.zip'))).subarray(0, 2).toString(), 'PK');
  const jobs = await run('bash', ['-euc', (handler ?? '').replaceAll('8081', String(Number(base) + 1))], { cwd: dir });
  t.match(jobs.stdout, /"status":"job completed"/);
  const { stdout: listed } = await run('tar', ['tzf', join(dir, 'result.tgz')]);
  t.same(listed.trim().split('\n').sort(), ['datafiles/genes.txt', 'dataset.json', 'meta.json']);
  t.equal(await app.stop(), 0);
});
