import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { copyTree, PRIVATE, settleFolders, settleTree } from '../../../actors/plugin-host/installed-tree.ts';

/** A tree as a careless script leaves it. */
async function installed(t: Test): Promise<string> {
  const root = t.testdir({
    set: { 'a.txt': 'a', 'run.sh': '#!/bin/sh\n', 'closed.txt': 'c', inner: { 'b.txt': 'b' } },
  });
  const set = join(root, 'set');
  for (const [name, mode] of Object.entries({
    '.': 0o777,
    inner: 0o2775,
    'inner/b.txt': 0o664,
    'a.txt': 0o666,
    'run.sh': 0o4755,
    'closed.txt': 0o600,
  }))
    await chmod(join(set, name), mode);
  await symlink('a.txt', join(set, 'link'));
  return set;
}

const modesOf = async (set: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      ['.', 'inner', 'inner/b.txt', 'a.txt', 'run.sh', 'closed.txt'].map(async (name) => {
        const { mode } = await lstat(join(set, name));
        return [name, (mode & 0o7777).toString(8)] as const;
      }),
    ),
  );

t.test('other accounts read nothing of what a script installed, and nobody else writes it', async (t) => {
  const set = await installed(t);
  t.equal(await settleTree(set, PRIVATE), 0);
  t.strictSame(await modesOf(set), {
    '.': '750',
    inner: '2750',
    'inner/b.txt': '640',
    'a.txt': '640',
    'run.sh': '750',
    'closed.txt': '600',
  });
});

t.test('where others may read, they read what the group may', async (t) => {
  const set = await installed(t);
  await settleTree(set, { group: undefined, others: true });
  t.strictSame(await modesOf(set), {
    '.': '755',
    inner: '2755',
    'inner/b.txt': '644',
    'a.txt': '644',
    'run.sh': '755',
    'closed.txt': '600',
  });
});

t.test('what is installed is given to the group, links too, and what they lead to is not', async (t) => {
  const set = await installed(t);
  const outside = join(set, '..', 'outside');
  await writeFile(outside, 'o', { mode: 0o666 });
  await chmod(outside, 0o666);
  await symlink(outside, join(set, 'away'));
  // Root may give to any group, others to those that they are in.
  const own = process.getgid?.() ?? 0;
  const group = process.getuid?.() === 0 ? 54_321 : (process.getgroups?.().find((one) => one !== own) ?? own);
  await settleTree(set, { group, others: false });
  for (const name of ['.', 'inner/b.txt', 'link', 'away']) t.equal((await lstat(join(set, name))).gid, group, name);
  const { gid, mode } = await lstat(outside);
  t.strictSame([gid === group && group !== own, mode & 0o777], [false, 0o666]);
});

t.test('a tree that is not there needs nothing', async (t) => {
  t.equal(await settleTree(join(t.testdir({}), 'none'), PRIVATE), 0);
});

t.test('the folders above are closed to others as well, from the first that was made', async (t) => {
  const root = t.testdir({});
  const last = join(root, 'a', 'b', 'c');
  await mkdir(last, { recursive: true });
  for (const path of ['a', 'a/b', 'a/b/c']) await chmod(join(root, path), 0o775);
  await settleFolders(join(root, 'a', 'b'), last, PRIVATE);
  const modes = ['a', 'a/b', 'a/b/c'].map(async (path) => ((await lstat(join(root, path))).mode & 0o777).toString(8));
  t.strictSame(await Promise.all(modes), ['775', '750', '750']);
});

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
    message: `'${join(from, 'pipe')}' is not a file, folder or link, and cannot be copied`,
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
