import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { exists, removeFile, removeTree, writeWhole } from '../../../engine/runtime/files.ts';

const NOBODY = 65_534;

t.test('a tree is gone with all that is in it, and what is not there is fine', async (t) => {
  const dir = await setup(t);
  await mkdir(join(dir, 'tree', 'a', 'b'), { recursive: true });
  await mkdir(join(dir, 'tree', 'empty'));
  for (const file of ['x', 'a/y', 'a/b/z']) await writeFile(join(dir, 'tree', file), file);
  await removeTree(join(dir, 'tree'));
  await removeTree(join(dir, 'tree'));
  await writeFile(join(dir, 'file'), '');
  await removeTree(join(dir, 'file'));
  t.strictSame(await readdir(dir), []);
});

t.test('names that are not UTF-8 are removed', async (t) => {
  const dir = await setup(t);
  await mkdir(join(dir, 'tree'));
  const name = Buffer.concat([Buffer.from(`${join(dir, 'tree')}/`), Buffer.from([0xe9, 0x2e])]);
  await writeFile(name, 'x');
  await mkdir(Buffer.concat([name, Buffer.from('d')]));
  await removeTree(join(dir, 'tree'));
  t.strictSame(await readdir(dir), []);
});

t.test('one file is removed, and one that is not there is fine, but a folder is not', async (t) => {
  const dir = await setup(t);
  await writeFile(join(dir, 'file'), '');
  await removeFile(join(dir, 'file'));
  await removeFile(join(dir, 'file'));
  await mkdir(join(dir, 'folder'));
  await t.rejects(removeFile(join(dir, 'folder')), { code: /^E(ISDIR|PERM)$/ });
  t.strictSame(await readdir(dir), ['folder']);
});

t.test('links are removed and not followed, be it one in the tree or the tree itself', async (t) => {
  const dir = await setup(t);
  await mkdir(join(dir, 'elsewhere'));
  await writeFile(join(dir, 'elsewhere', 'kept'), 'kept');
  await mkdir(join(dir, 'tree'));
  await symlink(join(dir, 'elsewhere'), join(dir, 'tree', 'link'));
  await symlink(join(dir, 'elsewhere'), join(dir, 'link'));
  await removeTree(join(dir, 'tree'));
  await removeTree(join(dir, 'link'));
  t.strictSame(await readdir(dir), ['elsewhere']);
  t.equal(await readFile(join(dir, 'elsewhere', 'kept'), 'utf8'), 'kept');
});

t.test('folders that a script left without rights are removed by their owner', async (t) => {
  const dir = await setup(t);
  // Root may empty every folder: for the time of the test it is nobody.
  if (process.getuid?.() === 0) {
    await chmod(dir, 0o777);
    process.seteuid?.(NOBODY);
    t.teardown(() => process.seteuid?.(0));
  }
  const copy = join(dir, 'tree', 'copy');
  const folders = Array.from({ length: 20 }, (_, n) => join(copy, `folder ${n}`, 'below'));
  for (const folder of folders) await mkdir(folder, { recursive: true });
  // So many that what is read of the folder piece by piece comes later than what is read at once.
  for (let n = 0; n < 500; n++) await writeFile(join(copy, `${n}`), '');
  for (const folder of folders) await writeFile(join(folder, 'x'), '');
  for (const folder of folders) for (const at of [folder, dirname(folder)]) await chmod(at, 0o500);
  await chmod(copy, 0o500);
  const closed = Array.from({ length: 3 }, (_, n) => join(dir, 'tree', 'closed', ...'a'.repeat(n)));
  for (const folder of closed) await mkdir(folder);
  for (const folder of closed.toReversed()) await chmod(folder, 0);
  await removeTree(join(dir, 'tree'));
  t.strictSame(await readdir(dir), []);
});

t.test('a file is replaced whole, with the mode that was asked for', async (t) => {
  const dir = await setup(t);
  const file = join(dir, 'file');
  t.equal(await exists(file), false);
  await writeWhole(file, 'first', 0o600);
  await writeWhole(file, Buffer.from('second'), 0o644);
  t.equal(await readFile(file, 'utf8'), 'second');
  t.equal((await stat(file)).mode & 0o777, 0o644);
  t.ok(await exists(file));
  t.strictSame(await readdir(dir), ['file'], 'nothing else is left');
});

async function setup(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
