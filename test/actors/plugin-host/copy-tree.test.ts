import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { copyTree } from '../../../actors/plugin-host/copy-tree.ts';

const signal = new AbortController().signal;

t.test('a copy has the files, folders, modes and times of the tree', async (t) => {
  const dir = t.testdir({ from: { 'a.txt': 'alpha', sub: { 'b c.txt': 'beta' }, empty: {} } });
  const [from, to] = [join(dir, 'from'), join(dir, 'to')];
  await chmod(join(from, 'a.txt'), 0o640);
  // A folder that its owner may not write to has its files all the same.
  await chmod(join(from, 'sub'), 0o555);
  for (const name of ['a.txt', 'sub', 'empty', '.']) await utimes(join(from, name), 1_000, 2_000);
  await copyTree(from, to, signal);
  t.same((await readdir(to, { recursive: true })).sort(), ['a.txt', 'empty', 'sub', 'sub/b c.txt']);
  t.equal(await readFile(join(to, 'sub', 'b c.txt'), 'utf8'), 'beta');
  for (const name of ['.', 'a.txt', 'sub', 'empty']) {
    const [one, other] = [await lstat(join(from, name)), await lstat(join(to, name))];
    t.same([other.mode, other.mtimeMs], [one.mode, 2_000_000], name);
  }
  await writeFile(join(to, 'a.txt'), 'changed');
  t.equal(await readFile(join(from, 'a.txt'), 'utf8'), 'alpha', 'the copy has files of its own');
  // For whoever removes them.
  for (const tree of [from, to]) await chmod(join(tree, 'sub'), 0o755);
});

t.test('links into the tree lead into the copy, others where they led', async (t) => {
  const dir = t.testdir({ from: { 'a.txt': 'alpha' } });
  const [from, to] = [join(dir, 'from'), join(dir, 'to')];
  const links = {
    whole: [join(from, 'a.txt'), join(to, 'a.txt')],
    root: [from, to],
    beside: [`${from}-else/a.txt`, `${from}-else/a.txt`],
    relative: ['a.txt', 'a.txt'],
  } as const;
  for (const [name, [leadsTo]] of Object.entries(links)) await symlink(leadsTo, join(from, name));
  await copyTree(from, to, signal);
  for (const [name, [, expected]] of Object.entries(links)) t.equal(await readlink(join(to, name)), expected, name);
});

t.test('a pipe is refused by its name, and nothing is overwritten', async (t) => {
  const dir = t.testdir({ from: {}, there: { 'a.txt': 'mine' } });
  const from = join(dir, 'from');
  execFileSync('mkfifo', [join(from, 'pipe')]);
  await t.rejects(copyTree(from, join(dir, 'to'), signal), {
    kind: 'rejected',
    message: `'${join(from, 'pipe')}' is no file, folder or link, and cannot be copied`,
  });
  await t.rejects(copyTree(from, join(dir, 'there'), signal), { code: 'EEXIST' });
  t.equal(await readFile(join(dir, 'there', 'a.txt'), 'utf8'), 'mine');
});

t.test('a copy ends when it is told to', async (t) => {
  const dir = t.testdir({ from: { 'a.txt': 'a' } });
  await mkdir(join(dir, 'from', 'sub'));
  const reason = new Error('enough');
  await t.rejects(copyTree(join(dir, 'from'), join(dir, 'to'), AbortSignal.abort(reason)), reason);
  t.same(await readdir(dir), ['from']);
});
