// The program itself: its files that are neither code nor configuration, and how it starts itself again. In a checkout files are
// next to the sources; in the single executable they are assets with the same path. No other module knows where it is installed.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';

/** True in the single executable. */
export const bundled: boolean = isSea();

/** The thread that the executable contains as an asset. There is only one, so all thread paths map to it. */
export const BUNDLED_THREAD = 'longshore:thread';

/** A flat folder of text files. */
export interface TextFolder {
  /** The folder's path, for messages. */
  readonly path: string;
  names(): Promise<readonly string[]>;
  read(name: string): Promise<string>;
}

export const folderOnDisk = (path: string): TextFolder => ({
  path,
  names: () => readdir(path),
  read: (name) => readFile(join(path, name), 'utf8'),
});

/** `path` is relative to the program's root. */
export function programFolder(path: string): TextFolder {
  if (!bundled) return folderOnDisk(fromRoot(path));
  const start = `${path}/`;
  return {
    path,
    names: async () => getAssetKeys().flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : [])),
    read: async (name) => getAsset(start + name, 'utf8'),
  };
}

/** `path` is relative to the program's root. */
export const programFile = async (path: string): Promise<string> =>
  bundled ? getAsset(path, 'utf8') : readFile(fromRoot(path), 'utf8');

/** `path` is relative to the program's root. */
export const programBytes = async (path: string): Promise<Buffer> =>
  bundled ? Buffer.from(getAsset(path)) : readFile(fromRoot(path));

/** Entry file of a worker thread, for the pool. */
export const programThread = (path: string): URL => (bundled ? new URL(BUNDLED_THREAD) : pathToFileURL(fromRoot(path)));

/**
 * Node.js options that the program is started with. They limit the semi-space of the heap to 4 MiB, in the main thread and in
 * each worker thread. Without a limit it grows to 16 or 32 MiB. It grows with running time, not with live memory, so a server's
 * memory rose throughout a long upload. Uploads, dispatch, events from Kafka, listings and a reconciliation take as long with 4
 * as with 8.
 */
export const RUNTIME_OPTIONS: readonly string[] = ['--max-semi-space-size=4'];

/** Program and first arguments that start this program again; the executable contains its options itself. */
export const programArgv = (): readonly [program: string, ...first: string[]] =>
  bundled ? [process.execPath] : [process.execPath, ...RUNTIME_OPTIONS, fromRoot('bin/longshore.ts')];

/** The path from which packages that are not part of the program are resolved. */
export const programPlace = (): string => (bundled ? process.execPath : fromRoot('package.json'));

const fromRoot = (path: string): string => join(import.meta.dirname, '..', '..', path);

/** Without a compile cache each start compiles the sources: 170 ms instead of 50 ms. The executable contains compiled code. */
export const runtimeArgv = (compiled: string): readonly string[] =>
  bundled ? programArgv() : ['/usr/bin/env', `NODE_COMPILE_CACHE=${compiled}`, ...programArgv()];

/** The argument with which the executable is the process that spawns scripts. */
export const SPAWN_SCRIPTS = 'spawn-scripts';

/**
 * Program and arguments of the process that spawns scripts (engine/adapters/scripts/script-spawner.ts).
 * @param compiled folder for its compiled code. Without that, each start strips types from the sources, and 11 MB of memory remain
 * that make each fork slower.
 */
export const scriptSpawner = (compiled: string): readonly string[] =>
  bundled
    ? [process.execPath, SPAWN_SCRIPTS]
    : [
        ...['/usr/bin/env', `NODE_COMPILE_CACHE=${compiled}`],
        ...[process.execPath, '--max-semi-space-size=1', fromRoot('bin/spawn-scripts.ts')],
      ];
