// Who may read installed files. A dataset may be private, so whatever modes scripts gave its files, other accounts of the
// machine cannot read them. One group can: that of the sites.

import { constants } from 'node:fs';
import { chmod, copyFile, lchown, lstat, mkdir, opendir, readdir, readlink, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rejected } from '../../engine/runtime/failure.ts';

export interface InstalledModes {
  /** Numeric id of the group that installed files get. Undefined: the system decides. */
  readonly group: number | undefined;
  /** Every account may read what the group may read. */
  readonly others: boolean;
}

/** Folders 0750, files 0640, or fewer permissions if the script gave fewer. */
export const PRIVATE: InstalledModes = { group: undefined, others: false };

/**
 * Returns how many files and folders belong to another account, so that their modes could not be set. A missing tree is fine.
 */
export async function settleTree(path: string, modes: InstalledModes): Promise<number> {
  const found = await lstat(path).catch(absent);
  if (!found) return 0;
  let refused = 0;
  try {
    await settleOne(path, found, modes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    refused++;
  }
  if (found.isDirectory()) for (const name of await readdir(path)) refused += await settleTree(join(path, name), modes);
  return refused;
}

/** The folders from the first that was created to the last. */
export async function settleFolders(first: string, last: string, modes: InstalledModes): Promise<void> {
  for (let path = last; path.startsWith(first); path = dirname(path)) await settleOne(path, await lstat(path), modes);
}

type Found = Awaited<ReturnType<typeof lstat>>;

async function settleOne(path: string, found: Found, { group, others }: InstalledModes): Promise<void> {
  if (group !== undefined && found.gid !== group) await lchown(path, -1, group);
  // A link has no mode of its own.
  if (found.isSymbolicLink()) return;
  const mode = Number(found.mode) & 0o7777;
  const ofGroup = mode & 0o050;
  // The set-group-id bit of folders stays: files created in them get their group.
  const wanted = (mode & (found.isDirectory() ? 0o2700 : 0o700)) | ofGroup | (others ? ofGroup >> 3 : 0);
  if (mode !== wanted) await chmod(path, wanted);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

// Copies a tree that scripts have written: files, folders and links, with their modes and times. Absolute links into the tree
// become links into the copy. Anything else, such as a pipe, is refused.

/** Folders are writable while they are filled. */
const OWNER_MAY_ALL = 0o700;

/** `to` must not exist. After a failure or an abort, the caller removes what was copied. */
export async function copyTree(from: string, to: string, signal: AbortSignal): Promise<void> {
  const copy = async (source: string, target: string): Promise<void> => {
    signal.throwIfAborted();
    const found = await lstat(source);
    if (found.isSymbolicLink()) return symlink(moved(await readlink(source), from, to), target);
    if (found.isDirectory()) {
      await mkdir(target, { mode: OWNER_MAY_ALL });
      for await (const { name } of await opendir(source)) await copy(join(source, name), join(target, name));
    } else if (found.isFile()) await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    else throw rejected(`'${source}' is not a file, folder or link, and cannot be copied`);
    await chmod(target, found.mode & 0o7777);
    await utimes(target, found.atime, found.mtime);
  };
  await copy(from, to);
}

function moved(link: string, from: string, to: string): string {
  return link === from || link.startsWith(`${from}/`) ? to + link.slice(from.length) : link;
}
