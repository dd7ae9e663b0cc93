// Other programs that make and read archives, each with the settings that its documentation recommends.

import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
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

export async function zipCli(tree: Tree, target: string, level: number): Promise<void> {
  await run('zip', ['-q', '-r', `-${level}`, target, '.'], { cwd: tree.dir });
}

export async function bsdtarExtract(archive: string, dir: string): Promise<void> {
  await run('bsdtar', ['-xf', archive, '-C', dir]);
}

export async function sevenZipExtract(archive: string, dir: string): Promise<void> {
  await run('7zz', ['x', '-y', '-bso0', '-bsp0', `-o${dir}`, archive]);
}

export async function sevenZipCreate(tree: Tree, target: string, level: number): Promise<void> {
  await run('7zz', ['a', '-tzip', '-bso0', '-bsp0', `-mx=${level}`, target, '.'], { cwd: tree.dir });
}

export async function bsdtarCreate(tree: Tree, target: string, as: 'zip' | 'gzip', level: number): Promise<void> {
  const format = as === 'zip' ? ['--format', 'zip'] : ['-z'];
  const options = ['--options', `${as}:compression-level=${level}`];
  await run('bsdtar', ['-C', tree.dir, ...format, ...options, '-cf', target, '.']);
}

/** GNU tar through pigz with two threads. */
export async function pigzCreate(tree: Tree, target: string, level: number): Promise<void> {
  await run('tar', ['-C', tree.dir, '-I', `pigz -p2 -${level}`, '-cf', target, '.']);
}
