// Removes a tree that scripts have written. They may leave folders that nobody can write (a copy of a read-only one);
// these are made writable first, since their owner could do so too.

import { chmod, opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Bits that listing and emptying a folder take. */
const OWNER_MAY_ALL = 0o700;
const FORBIDDEN = ['EACCES', 'EPERM'];
/** For what another process puts into a folder while it is emptied, and for network file systems that rename open files. */
const OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

/** What is not there is fine. Links are removed, never followed. Fails with the file system's own error. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, OPTIONS);
  } catch (error) {
    if (!FORBIDDEN.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await makeWritable(path);
    await rm(path, OPTIONS);
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, OWNER_MAY_ALL);
  for await (const entry of await opendir(folder))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
