// Whether an archive holds the files of a tree: by its directory, or by reading it with another program.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openPromise } from 'yauzl';
import type { Tree } from './archive-tree.ts';

const run = promisify(execFile);

/** Throws unless the directory of the zip has the names, sizes and checksums of the tree, and no other files. */
export async function checkZip(archive: string, tree: Tree): Promise<void> {
  const expected = new Map(tree.files.map((file) => [file.path, file]));
  const zip = await openPromise(archive);
  for await (const { fileName: name, uncompressedSize, crc32 } of zip.eachEntry()) {
    if (name.endsWith('/')) continue;
    const fileName = name.replace(/^\.\//, '');
    const file = expected.get(fileName);
    if (!file || file.size !== uncompressedSize || file.crc !== crc32)
      throw new Error(`${archive}: ${fileName} is not what was packed`);
    expected.delete(fileName);
  }
  if (expected.size > 0) throw new Error(`${archive} lacks ${[...expected.keys()][0]}`);
}

/** Throws unless bsdtar reads the archive to its end and finds the files of the tree. */
export async function checkTarGz(archive: string, tree: Tree): Promise<void> {
  const { stdout } = await run('bsdtar', ['-tf', archive], { maxBuffer: 2 ** 26 });
  const names = stdout.split('\n').filter((name) => name !== '' && !name.endsWith('/'));
  const found = new Set(names.map((name) => name.replace(/^\.\//, '')));
  if (found.size !== tree.files.length || tree.files.some(({ path }) => !found.has(path)))
    throw new Error(`${archive} does not hold what was packed`);
}
