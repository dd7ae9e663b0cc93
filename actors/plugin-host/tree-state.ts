// What a folder is like, to tell whether it has changed since its files were packed, and whether unpacking them would make the
// same folder.

import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { checkEntryPath } from '../../engine/archive/entry-path.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { KEPT_FROM_BYTES } from '../tasks/pack-upload.ts';
import { METADATA } from './workspace.ts';

/** Each file is looked at twice. */
const MOST_FILES = 1_000;
/** As unpacked files have them. */
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;

/** What each file and folder is like, by its path. The times of a file change when anybody writes, links or renames it. */
export type TreeState = ReadonlyMap<string, string>;

export const bytesOf = (files: readonly FileEntry[]): number => files.reduce((sum, { size }) => sum + size, 0);

export function isWorthwhile(files: readonly FileEntry[]): boolean {
  return (
    files.length <= MOST_FILES &&
    bytesOf(files) >= KEPT_FROM_BYTES &&
    files.every(({ name }) => name !== METADATA && comesOutAs(name) === name)
  );
}

/** The path of the file that is unpacked from an entry of this name. */
function comesOutAs(name: string): string | undefined {
  const check = checkEntryPath(name);
  return 'path' in check && !name.includes('\\') ? check.path : undefined;
}

/**
 * Tells a file from all others: the store moves archives, which changes nothing of this, or copies them to another file system.
 * Without a time of birth, a later file may have the same inode. Undefined also for a file with more bytes.
 */
export async function identityOf(file: string, mostBytes = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  const { dev, ino, size, birthtimeNs } = await stat(file, { bigint: true });
  return birthtimeNs > 0n && size <= mostBytes ? [dev, ino, size, birthtimeNs].join('-') : undefined;
}

export async function setModes(folder: string): Promise<void> {
  await chmod(folder, FOLDER_MODE);
  for (const entry of await entriesOf(folder)) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), FOLDER_MODE);
    else if (entry.isFile()) await chmod(join(entry.parentPath, entry.name), FILE_MODE);
  }
}

const entriesOf = (folder: string) => readdir(folder, { recursive: true, withFileTypes: true });

/** Undefined if it has anything that is neither a folder nor a file of this folder alone. */
export async function stateOf(folder: string): Promise<TreeState | undefined> {
  const state = new Map([['', `folder ${(await lstat(folder)).mode}`]]);
  for (const entry of await entriesOf(folder)) {
    const path = join(entry.parentPath, entry.name);
    const found = await lstat(path, { bigint: true });
    const { mode, ino, size, mtimeNs, ctimeNs } = found;
    if (!found.isDirectory() && !(found.isFile() && found.nlink === 1n)) return undefined;
    const what = found.isDirectory() ? `folder ${mode}` : ['file', mode, ino, size, mtimeNs, ctimeNs].join(' ');
    state.set(relative(folder, path), what);
  }
  return state;
}

export const isSame = (state: TreeState | undefined, before: TreeState): boolean =>
  state?.size === before.size && [...before].every(([path, what]) => state.get(path) === what);

/** The files of the archive and their folders, and nothing else. */
export function holdsExactly(state: TreeState, files: readonly FileEntry[]): boolean {
  const paths = new Set(['']);
  for (const { name } of files) for (let path = name; path !== '.'; path = dirname(path)) paths.add(path);
  return state.size === paths.size && [...paths].every((path) => state.has(path));
}
