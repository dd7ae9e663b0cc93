import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { findPostgresBinaries } from '../../../engine/adapters/postgres-binaries.ts';

/** Programs that only tell their version. */
async function programs(dir: string, version: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  for (const name of ['initdb', 'postgres'])
    await writeFile(join(dir, name), `#!/bin/sh\necho '${name} (PostgreSQL) ${version} (of a test)'\n`, {
      mode: 0o755,
    });
  return dir;
}

const NOWHERE = { copyTo: [], uid: undefined, packaged: undefined, debian: '/nonexistent' };
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

t.test('data is served by programs of the version that made it', async (t) => {
  const dir = t.testdir();
  const old = await programs(join(dir, 'old'), '15.18');
  const young = await programs(join(dir, 'young'), '18.4');
  const search = { ...NOWHERE, path: [young, old].join(delimiter) };
  t.same(await findPostgresBinaries({ ...search, major: 15 }), inDir(old));
  await t.rejects(findPostgresBinaries({ ...search, major: 17 }), {
    message:
      `no usable programs of PostgreSQL 17 (${young}: of version 18, but the data is of version 17; ` +
      `${old}: of version 15, but the data is of version 17); install PostgreSQL 17 (Debian: apt-get install ` +
      'postgresql-17), or put its programs on PATH, or name their directory with --postgres-bin DIR',
  });
});

t.test('a directory that the operator names is the only one that is tried', async (t) => {
  const dir = t.testdir({ empty: {} });
  const onPath = await programs(join(dir, 'path'), '16.1');
  const binDir = join(dir, 'empty');
  await t.rejects(findPostgresBinaries({ ...NOWHERE, path: onPath, binDir }), {
    kind: 'transient',
    message: `no usable PostgreSQL programs (${binDir}: spawn ${binDir}/initdb ENOENT); name another directory with --postgres-bin`,
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
