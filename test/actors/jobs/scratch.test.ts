import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Scratch } from '../../../actors/jobs/scratch.ts';

async function setup(t: Test) {
  const root = join(t.testdir(), 'scratch');
  const scratch = new Scratch(root);
  await scratch.clear();
  return { root, scratch };
}

t.test('an attempt gets an empty private folder, which is removed with all that it leaves there', async (t) => {
  const { root, scratch } = await setup(t);
  await scratch.named('a', async (folder) => {
    t.equal((await stat(folder)).mode & 0o777, 0o700);
    await mkdir(join(folder, 'below'));
    await writeFile(join(folder, 'below', 'file'), 'x');
  });
  await t.rejects(
    scratch.named('b', () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  t.same(await readdir(root), []);
});

t.test('what is there already is removed first', async (t) => {
  const { root, scratch } = await setup(t);
  await mkdir(join(root, 'a', 'below'), { recursive: true });
  await scratch.named('a', async (folder) => t.same(await readdir(folder), []));
});

t.test('a root that something has removed is made again', async (t) => {
  const { root, scratch } = await setup(t);
  await rm(root, { recursive: true });
  await scratch.named('a', async (folder) => t.same(await readdir(folder), []));
  t.same(await readdir(root), []);
});
