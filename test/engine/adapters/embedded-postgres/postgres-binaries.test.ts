import { chmod, mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import t from 'tap';
import {
  findPostgresBinaries,
  giveTree,
  ownAccount,
} from '../../../../engine/adapters/embedded-postgres/postgres-binaries.ts';

/** The user of that name on Debian. */
const NOBODY = 65_534;

/** Programs that only tell their version, after `first`. */
async function programs(dir: string, version: string, first = ''): Promise<string> {
  await mkdir(dir, { recursive: true });
  for (const name of ['initdb', 'postgres'])
    await writeFile(join(dir, name), `#!/bin/sh\n${first}\necho '${name} (PostgreSQL) ${version} (of a test)'\n`, {
      mode: 0o755,
    });
  return dir;
}

const NOWHERE = { copyTo: [], account: undefined, packaged: undefined, debian: '/nonexistent' };
const inDir = (dir: string) => ({ initdb: join(dir, 'initdb'), postgres: join(dir, 'postgres') });

t.test('programs are taken of the package, else of the path, else of the newest of Debian', async (t) => {
  const dir = t.testdir();
  const packaged = await programs(join(dir, 'native', 'bin'), '18.4');
  const onPath = await programs(join(dir, 'path'), '16.1');
  const debian = join(dir, 'debian');
  await programs(join(debian, '9', 'bin'), '9.6');
  const newest = await programs(join(debian, '15', 'bin'), '15.18');
  const search = { ...NOWHERE, debian };
  const path = ['relative', join(dir, 'empty'), onPath].join(delimiter);
  t.same(await findPostgresBinaries({ ...search, path, packaged: join(dir, 'native') }), inDir(packaged));
  t.same(await findPostgresBinaries({ ...search, path }), inDir(onPath));
  t.same(await findPostgresBinaries({ ...search, path: undefined }), inDir(newest));
});

t.test('a read-only package is copied, with the links that it lacks, to the first place that takes it', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const native = join(dir, 'native');
  t.teardown(async () => {
    for (const folder of [native, join(native, 'lib')]) await chmod(folder, 0o755);
    await rm(dir, { recursive: true });
  });
  await programs(join(native, 'bin'), '18.4', '[ -e "$(dirname "$0")/../lib/libpq.so.5" ] || exit 127');
  await writeFile(
    join(native, 'pg-symlinks.json'),
    JSON.stringify([{ source: 'native/lib/libpq.so.5.1', target: 'native/lib/libpq.so.5' }]),
  );
  await mkdir(join(native, 'lib'));
  await writeFile(join(native, 'lib/libpq.so.5.1'), '');
  for (const folder of [native, join(native, 'lib')]) await chmod(folder, 0o555);
  await chmod(dir, 0o777);
  // Root may write everywhere: for the time of the test it is nobody.
  if (process.getuid?.() === 0) {
    process.seteuid?.(NOBODY);
    t.teardown(() => process.seteuid?.(0));
  }
  const place = join(dir, 'place');
  await programs(join(place, 'old'), '17.1');
  // Of a process of the same id that was killed in the middle.
  await programs(join(`${place}.partial-${process.pid}`, 'half'), '18.4');
  const copyTo = [join(native, 'lib/below'), place, join(dir, 'other')];
  t.same(await findPostgresBinaries({ ...NOWHERE, packaged: native, copyTo }), inDir(join(place, 'bin')));
  t.strictSame((await readdir(place)).sort(), ['bin', 'lib', 'pg-symlinks.json']);
  t.equal(await readlink(join(place, 'lib/libpq.so.5')), 'libpq.so.5.1');
  t.strictSame((await readdir(dir)).sort(), ['native', 'place']);
  t.same(await findPostgresBinaries({ ...NOWHERE, packaged: native, copyTo }), inDir(join(place, 'bin')), 'once more');
});

t.test('nothing is left of a copy that cannot be made whole', async (t) => {
  const dir = t.testdir({ native: { bin: {}, 'pg-symlinks.json': 'cut off' } });
  const copyTo = [join(dir, 'copies', 'place')];
  await t.rejects(findPostgresBinaries({ ...NOWHERE, packaged: join(dir, 'native'), copyTo }), {
    message: /copies\/place: .*not valid JSON/,
  });
  t.strictSame(await readdir(join(dir, 'copies')), []);
});

t.test('data is served by programs of the version that made it', async (t) => {
  const dir = t.testdir();
  const old = await programs(join(dir, 'old'), '15.18');
  const young = await programs(join(dir, 'young'), '18.4');
  const search = { ...NOWHERE, path: [young, old].join(delimiter) };
  t.same(await findPostgresBinaries({ ...search, major: 15 }), inDir(old));
  await t.rejects(findPostgresBinaries({ ...search, major: 17 }), {
    message:
      `no usable programs of PostgreSQL 17 (${young}: version 18, but the data directory needs version 17; ` +
      `${old}: version 15, but the data directory needs version 17); install PostgreSQL 17 (Debian: apt-get install ` +
      'postgresql-17), or put its programs on PATH, or name their directory with --postgres-bin DIR',
  });
});

t.test('a directory that the operator names is the only one that is tried', async (t) => {
  const dir = t.testdir({ empty: {} });
  const onPath = await programs(join(dir, 'path'), '16.1');
  const binDir = join(dir, 'empty');
  await t.rejects(findPostgresBinaries({ ...NOWHERE, path: onPath, binDir }), {
    kind: 'transient',
    message: `no usable PostgreSQL programs (${binDir}: spawn ${binDir}/initdb ENOENT); use another directory with --postgres-bin`,
  });
  t.same(await findPostgresBinaries({ ...NOWHERE, path: binDir, binDir: onPath }), inDir(onPath));
});

t.test('without any the error says what to do', async (t) => {
  await t.rejects(findPostgresBinaries(NOWHERE), {
    kind: 'transient',
    message:
      'no usable PostgreSQL programs; install PostgreSQL (Debian: apt-get install postgresql), or put its programs on ' +
      'PATH, or name their directory with --postgres-bin DIR',
  });
});

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
