import { mkdir, mkdtemp, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { ObjectTree } from '../../../../engine/adapters/directory/directory-store-tree.ts';

/** Says what it syncs. */
class Watched extends ObjectTree {
  readonly synced: string[] = [];

  override async sync(folder: string): Promise<string | undefined> {
    this.synced.push(basename(folder));
    return super.sync(folder);
  }
}

async function setup(t: Test) {
  const root = join(await mkdtemp(join(tmpdir(), 'longshore-test-')), 'root');
  t.teardown(() => rm(join(root, '..'), { recursive: true }));
  await mkdir(root);
  const tree = new Watched(root);
  const synced = async (...folders: readonly string[]): Promise<readonly string[]> => {
    tree.synced.length = 0;
    await tree.makeDurable(folders.map((folder) => join(root, folder)));
    return [...tree.synced];
  };
  return { root, tree, synced };
}

t.test('a thousand folders are remembered as durable, those that were used last', async (t) => {
  const { root, synced } = await setup(t);
  const names = Array.from({ length: 1_000 }, (_, i) => `f${i}`);
  for (const name of names) await mkdir(join(root, name));
  t.equal((await synced(...names)).length, 1_001, 'each once, and the root');
  t.strictSame(await synced('f999'), ['f999']);
  t.strictSame(await synced('f1'), ['f1']);
  t.strictSame(await synced('f0'), ['f0', 'root'], 'one more than a thousand, with the root');
  t.strictSame(await synced('f1'), ['f1']);
});

t.test('a folder that was pruned or replaced is not taken for durable', async (t) => {
  const { root, tree, synced } = await setup(t);
  await mkdir(join(root, 'a/b'), { recursive: true });
  t.strictSame(await synced('a/b'), ['b', 'a', 'root']);
  t.strictSame(await synced('a/b'), ['b']);
  t.equal(await tree.prune(join(root, 'a/b')), root);
  await mkdir(join(root, 'a/b'), { recursive: true });
  t.strictSame(await synced('a/b'), ['b', 'a', 'root']);
  await rmdir(join(root, 'a/b'));
  await mkdir(join(root, 'other'));
  await rename(join(root, 'other'), join(root, 'a/b'));
  t.strictSame(await synced('a/b'), ['b', 'a']);
});

t.test('a folder that is gone is no reason to fail, and those above it are synced', async (t) => {
  const { synced } = await setup(t);
  t.strictSame(await synced('a/b'), ['b', 'a', 'root']);
  t.strictSame(await synced('a/b'), ['b', 'a', 'root']);
});

t.test('a file that is missing itself is not looked for again and again', async (t) => {
  const { root, tree } = await setup(t);
  const file = join(root, '..', 'file');
  await t.rejects(tree.moveIn(file, join(root, 'a/b/x')), { code: 'ENOENT', path: file });
  await writeFile(file, 'x');
  await tree.moveIn(file, join(root, 'a/c/x'));
  t.equal(await tree.unlink(join(root, 'a/c/x')), true);
  t.equal(await tree.unlink(join(root, 'a/c/x')), false);
});
