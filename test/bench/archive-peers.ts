// Other programs that make and read archives, each with the settings that its documentation recommends.

import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ZipArchive } from 'archiver';
import * as tar from 'tar';
import { openPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import type { Tree } from './archive-tree.ts';

/** What a Node peer writes its archive with: the buffer that is fastest. */
const WRITE_BYTES = 1024 * 1024;
const run = promisify(execFile);

/** Level 0 stores. */
export async function yazlZip(tree: Tree, target: string, level: number): Promise<void> {
  const zip = new ZipFile();
  for (const { path, file } of tree.files)
    zip.addFile(file, path, level === 0 ? { compress: false } : { compressionLevel: level });
  zip.end();
  await pipeline(zip.outputStream as Readable, createWriteStream(target, { highWaterMark: WRITE_BYTES }));
}

export async function archiverZip(tree: Tree, target: string, level: number): Promise<void> {
  const zip = new ZipArchive(level === 0 ? { store: true } : { zlib: { level } });
  const written = pipeline(zip, createWriteStream(target, { highWaterMark: WRITE_BYTES }));
  for (const { path, file } of tree.files) zip.file(file, { name: path });
  await Promise.all([zip.finalize(), written]);
}

export async function zipCli(tree: Tree, target: string, level: number): Promise<void> {
  await run('zip', ['-q', '-r', `-${level}`, target, '.'], { cwd: tree.dir });
}

/** Checks sizes; yauzl itself compares no checksums. */
export async function yauzlUnzip(archive: string, dir: string): Promise<void> {
  const zip = await openPromise(archive);
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith('/')) continue;
    const file = join(dir, entry.fileName);
    await mkdir(dirname(file), { recursive: true });
    await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(file));
  }
}

export async function bsdtarExtract(archive: string, dir: string): Promise<void> {
  await run('bsdtar', ['-xf', archive, '-C', dir]);
}

export async function tarExtract(archive: string, dir: string): Promise<void> {
  await tar.x({ file: archive, cwd: dir });
}

/** The bytes inside; nothing is written. */
export async function bareGunzip(archive: string): Promise<number> {
  let bytes = 0;
  const input = createReadStream(archive, { highWaterMark: 256 * 1024 });
  await pipeline(input, createGunzip({ chunkSize: 256 * 1024 }), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) bytes += chunk.length;
  });
  return bytes;
}

export async function tarCreate(tree: Tree, target: string, level: number): Promise<void> {
  const names = [...new Set(tree.files.map(({ path }) => path))];
  await tar.c({ file: target, cwd: tree.dir, gzip: { level } }, names);
}

/** GNU tar through pigz with two threads. */
export async function pigzCreate(tree: Tree, target: string, level: number): Promise<void> {
  await run('tar', ['-C', tree.dir, '-I', `pigz -p2 -${level}`, '-cf', target, '.']);
}
