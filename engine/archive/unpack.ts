// Writes the files of an archive below a directory. For worker threads: files are written with blocking calls, which is several
// times faster for many small files.

import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import type { FileEntry } from '../model/metadata.ts';
import { codeOf, defect, rejected, transient } from '../runtime/failure.ts';
import type { ArchiveEntry } from './archive-entry.ts';
import { quoteEntry } from './entry-path.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const FILE_MODE = 0o644;
/** An archive may not create more folders than it may have entries. */
const MAX_FOLDERS = 100_000;

/**
 * Unpacks into `dir`, which must exist. Files get mode 0644, folders 0755, whatever the archive says. An existing file is a
 * `rejected` failure, and so is a folder that is a link. Files written before a failure stay, because the caller owns the
 * directory. Returns what was written, in the archive's order.
 */
export async function unpackTo(
  dir: string,
  entries: AsyncIterable<ArchiveEntry>,
  signal: AbortSignal,
): Promise<readonly FileEntry[]> {
  const root = resolve(dir);
  const folders = new Set([root]);
  const files: FileEntry[] = [];
  for await (const entry of entries) {
    signal.throwIfAborted();
    const file = resolve(root, entry.path);
    if (!file.startsWith(root + sep)) throw defect(`entry ${quoteEntry(entry.path)} would leave ${root}`);
    try {
      makeFolder(dirname(file), folders);
      await writeFile(file, entry.body, signal);
    } catch (error) {
      throw fault(error, entry.path);
    }
    files.push({ name: entry.path, size: entry.size });
  }
  return files;
}

function makeFolder(folder: string, made: Set<string>): void {
  if (made.has(folder)) return;
  makeFolder(dirname(folder), made);
  if (made.size > MAX_FOLDERS) throw rejected(`the archive has more than ${MAX_FOLDERS} folders`);
  try {
    mkdirSync(folder);
    // The umask must not apply, because scripts may run as another user.
    chmodSync(folder, 0o755);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !lstatSync(folder).isDirectory()) throw error;
  }
  made.add(folder);
}

async function writeFile(file: string, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const fd = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
  try {
    // The umask must not apply here either. Checking is cheaper than changing, which the file system has to record.
    if ((fstatSync(fd).mode & 0o7777) !== FILE_MODE) fchmodSync(fd, FILE_MODE);
    for await (const chunk of body) {
      signal.throwIfAborted();
      let written = 0;
      while (written < chunk.length) written += writeSync(fd, chunk, written);
    }
  } finally {
    closeSync(fd);
  }
}

function fault(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'EISDIR')
    return rejected(`entry ${quoteEntry(path)} collides with a file or folder that is there already`, { cause: error });
  if (error instanceof Error && 'syscall' in error)
    return transient(`writing entry ${quoteEntry(path)}: ${error.message}`, { cause: error });
  return error;
}
