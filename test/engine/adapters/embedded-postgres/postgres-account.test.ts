import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { giveTree, ownAccount } from '../../../../engine/adapters/embedded-postgres/postgres-account.ts';

t.test('the account is found by its name, and is never root', async (t) => {
  const dir = t.testdir({
    with: 'root:x:0:0::/root:/bin/sh\nlongshore-postgres:x:998:997::/nonexistent:/usr/sbin/nologin\n',
    root: 'longshore-postgres:x:0:0::/:/bin/sh\n',
    without: 'nobody:x:65534:65534::/:/bin/sh\nlongshore-postgres-2:x:5:5::/:/bin/sh\n',
  });
  t.strictSame(await ownAccount(join(dir, 'with')), { uid: 998, gid: 997 });
  for (const name of ['root', 'without', 'no-such-file']) t.equal(await ownAccount(join(dir, name)), undefined, name);
});

t.test('a folder of somebody else is given whole, its top last, and links are left', async (t) => {
  const top = join(t.testdir({}), 'postgres');
  await mkdir(join(top, 'base'), { recursive: true });
  await writeFile(join(top, 'base', '1'), '');
  await symlink('/etc/passwd', join(top, 'link'));
  const given: string[] = [];
  const give = async (path: string): Promise<void> => void given.push(path);
  const uid = process.getuid?.() ?? 0;
  await giveTree(top, { uid, gid: uid }, give);
  t.strictSame(given, [], 'it is its own already');
  await giveTree(top, { uid: uid + 1, gid: uid + 1 }, give);
  t.strictSame([given.toSorted(), given.at(-1)], [[top, join(top, 'base'), join(top, 'base', '1')], top]);
});
