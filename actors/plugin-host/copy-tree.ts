// Copies a tree that scripts have written: files, folders and links, with their modes and times. Links that lead into the
// tree by its whole path lead into the copy. Anything else, such as a pipe, is refused.

import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, opendir, readlink, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { rejected } from '../../engine/runtime/failure.ts';

/** A copy may be written to while it is made, and afterwards. */
const OWNER_MAY_ALL = 0o700;

/** `to` must not be there. What is copied when it fails, or is told to end, stays for the caller to remove. */
export async function copyTree(from: string, to: string, signal: AbortSignal): Promise<void> {
  const copy = async (source: string, target: string): Promise<void> => {
    signal.throwIfAborted();
    const found = await lstat(source);
    if (found.isSymbolicLink()) return symlink(moved(await readlink(source), from, to), target);
    if (found.isDirectory()) {
      await mkdir(target, { mode: OWNER_MAY_ALL });
      for await (const { name } of await opendir(source)) await copy(join(source, name), join(target, name));
    } else if (found.isFile()) await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    else throw rejected(`'${source}' is no file, folder or link, and cannot be copied`);
    await chmod(target, found.mode & 0o7777);
    await utimes(target, found.atime, found.mtime);
  };
  await copy(from, to);
}

function moved(link: string, from: string, to: string): string {
  return link === from || link.startsWith(`${from}/`) ? to + link.slice(from.length) : link;
}
