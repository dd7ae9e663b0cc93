// Removes a directory tree that scripts have written. It may contain folders without write permission, such as a copy of a
// read-only folder. If so, we make the folders writable first.

import { chmod, opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The permissions needed to list and empty a folder. */
const OWNER_MAY_ALL = 0o700;
const FORBIDDEN = ['EACCES', 'EPERM'];
/** The retries are for files that other processes create meanwhile, and for network file systems that rename open files. */
const OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

/** Does nothing when the path does not exist. Links are removed, never followed. Rejects with the file system's error. */
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
