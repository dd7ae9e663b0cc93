import { chmod, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { PRIVATE, settleFolders, settleTree } from '../../../actors/plugin-host/installed-modes.ts';

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
