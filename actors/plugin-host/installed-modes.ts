// Who may read what is installed. A dataset may be private: whatever modes scripts gave its files, other accounts of the
// machine read nothing of it, and a group does, that of the sites.

import { chmod, lchown, lstat, opendir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface InstalledModes {
  /** Number of the group that what is installed is given to; undefined leaves it to the system. */
  readonly group: number | undefined;
  /** Every account may read what the group may. */
  readonly others: boolean;
}

/** Folders 0750, files 0640, or less where a script gave less. */
export const PRIVATE: InstalledModes = { group: undefined, others: false };

/** Returns how many files and folders are somebody else's, whose modes stay. A tree that is not there is fine. */
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
  if (found.isDirectory())
    for await (const { name } of await opendir(path)) refused += await settleTree(join(path, name), modes);
  return refused;
}

/** The folders from the first that was made to the last. */
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
  // What is made in a folder goes to its group where the folder says so.
  const wanted = (mode & (found.isDirectory() ? 0o2700 : 0o700)) | ofGroup | (others ? ofGroup >> 3 : 0);
  if (mode !== wanted) await chmod(path, wanted);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
