// Files and folders as a whole: looked for, written so that nobody reads half of one, removed.

import { chmod, lstat, opendir, readdir, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './failure.ts';

/** The permissions needed to list and empty a folder. */
const OWNER_MAY_ALL = 0o700;
const FORBIDDEN = ['EACCES', 'EPERM'];
/** The retries are for files that other processes create meanwhile, and for network file systems that rename open files. */
const OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

/**
 * Removes a tree that scripts have written. They may leave folders that nobody can write (a copy of a read-only one); these are
 * made writable first, since their owner could do so too. What is not there is fine. Links are removed, never followed. Fails
 * with the file system's own error.
 */
export async function removeTree(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  if (!found) return;
  try {
    await (found.isDirectory() ? removeFolder(path) : unlink(path));
  } catch {
    await removeStubborn(path);
  }
}

/** One file. What is not there is fine. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** Makes one system call for each file and two for each folder, where `rm` makes twice as many. */
async function removeFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? removeFolder(path) : unlink(path));
  }
  await rmdir(folder);
}

async function removeStubborn(path: string): Promise<void> {
  try {
    await rm(path, OPTIONS);
  } catch (error) {
    if (!FORBIDDEN.includes(codeOf(error) ?? '')) throw error;
    await makeWritable(path);
    await rm(path, OPTIONS);
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, OWNER_MAY_ALL);
  for await (const entry of await opendir(folder))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}

/** False also when it cannot be looked at. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Creates or replaces a file in one step: nobody reads half of it. */
export async function writeWhole(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const partial = `${path}.partial-${process.pid}`;
  await writeFile(partial, content, { mode });
  await rename(partial, path);
}
