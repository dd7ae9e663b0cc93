// What belongs to the program itself and is neither code nor configuration. In a checkout it lies among the sources; in
// the single executable it is an asset under the same path. Nothing else asks where the program stands.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';

/** True in the single executable. */
export const bundled: boolean = isSea();

/** The thread that the executable has as an asset; there is one, so its path is not told apart. */
export const BUNDLED_THREAD = 'longshore:thread';

/** A flat folder of texts. */
export interface TextFolder {
  /** For messages. */
  readonly path: string;
  names(): Promise<readonly string[]>;
  read(name: string): Promise<string>;
}

export const folderOnDisk = (path: string): TextFolder => ({
  path,
  names: () => readdir(path),
  read: (name) => readFile(join(path, name), 'utf8'),
});

/** `path` starts at the program's root. */
export function programFolder(path: string): TextFolder {
  if (!bundled) return folderOnDisk(fromRoot(path));
  const start = `${path}/`;
  return {
    path,
    names: async () => getAssetKeys().flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : [])),
    read: async (name) => getAsset(start + name, 'utf8'),
  };
}

/** `path` starts at the program's root. */
export const programFile = async (path: string): Promise<string> =>
  bundled ? getAsset(path, 'utf8') : readFile(fromRoot(path), 'utf8');

/** Entry file of a worker thread, for the pool. */
export const programThread = (path: string): URL => (bundled ? new URL(BUNDLED_THREAD) : pathToFileURL(fromRoot(path)));

/**
 * What the runtime is given before the program: half of the space for young objects, in MiB, may grow so far, in the main
 * thread and in each other. By itself it goes on to 16 or 32: it grows with the time that anything runs and not with what is
 * held, so a server's memory rose through a long upload. Uploads, dispatch, events from Kafka, listings and a reconciliation
 * take as long with 4 as with 8.
 */
export const RUNTIME_OPTIONS: readonly string[] = ['--max-semi-space-size=4'];

/** Program and first arguments with which this program is started again; the executable holds its options itself. */
export const programArgv = (): readonly [program: string, ...first: string[]] =>
  bundled ? [process.execPath] : [process.execPath, ...RUNTIME_OPTIONS, fromRoot('bin/longshore.ts')];

/** From here packages are looked for that are no part of the program. */
export const programPlace = (): string => (bundled ? process.execPath : fromRoot('package.json'));

const fromRoot = (path: string): string => join(import.meta.dirname, '..', path);
