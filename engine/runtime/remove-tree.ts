// Removes a tree that scripts have written. They may leave folders that nobody can write (a copy of a read-only one);
// these are made writable first, since their owner could do so too.

import { chmod, lstat, opendir, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Bits that listing and emptying a folder take. */
const OWNER_MAY_ALL = 0o700;
const FORBIDDEN = ['EACCES', 'EPERM'];
/** For what another process puts into a folder while it is emptied, and for network file systems that rename open files. */
const OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

/** What is not there is fine. Links are removed, never followed. Fails with the file system's own error. */
export async function removeTree(path: string): Promise<void> {
  if (await removed(path)) return;
  try {
    await rm(path, OPTIONS);
  } catch (error) {
    if (!FORBIDDEN.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await makeWritable(path);
    await rm(path, OPTIONS);
  }
}

/** With half the calls that `rm` makes, which looks at everything first. False when something is not as in most trees. */
async function removed(path: string): Promise<boolean> {
  try {
    if (!(await lstat(path)).isDirectory()) return false;
    await removeFolder(path);
    return true;
  } catch {
    // `rm` says what it is, or copes.
    return false;
  }
}

async function removeFolder(folder: string): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? removeFolder(path) : unlink(path));
  }
  await rmdir(folder);
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, OWNER_MAY_ALL);
  for await (const entry of await opendir(folder))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
