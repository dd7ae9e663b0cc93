// The read half of the directory store. Worker threads open only this: they have no database, so no journal.

import type { BigIntStats } from 'node:fs';
import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { demandAllowedKey } from '../../model/object-key.ts';
import type { ByteRange, ObjectInfo, ObjectReader, OpenObject } from '../../ports/object-store.ts';
import { codeOf, defect, Failure, transient } from '../../runtime/failure.ts';
import { walkObjects } from './directory-store-walk.ts';

/** A stream allocates a new buffer per chunk. With larger ones, more memory accumulates before garbage collection. */
const READ_BYTES = 64 * 1024;
/** Concurrent stat calls while listing. */
const STATS_AT_ONCE = 32;

/** Reads the store at `path`. If the path does not exist yet, no object is found and listing fails. */
export function openDirectoryReader(path: string): ObjectReader {
  return new DirectoryReader(join(path, 'objects'));
}

export class DirectoryReader implements ObjectReader {
  readonly #objects: string;

  constructor(objects: string) {
    this.#objects = objects;
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<OpenObject | undefined> {
    const path = objectPath(this.#objects, key);
    signal.throwIfAborted();
    const handle = await openIfPresent(path);
    try {
      const stats = await handle?.stat({ bigint: true });
      if (!handle || !stats?.isFile()) {
        await handle?.close();
        return undefined;
      }
      const start = range?.from ?? 0;
      // Stops at the known size, so that a small object is read in one go into a buffer of its size.
      const end = range?.to ?? Number(stats.size) - 1;
      const body = handle.createReadStream({
        start,
        // If the object was replaced after the stat, it may end before the range begins.
        ...(start <= end ? { end } : {}),
        highWaterMark: READ_BYTES,
        signal,
      });
      // An abort before anybody reads must not crash the process; a later reader gets the error all the same.
      body.on('error', () => {});
      const direct = {
        bytes: Math.max(Math.min(end, Number(stats.size) - 1) - start + 1, 0),
        fill: (target: Uint8Array, position: number) => fillFrom(handle, key, target, start + position),
      };
      return { info: toInfo(key, stats), body, direct };
    } catch (error) {
      await handle?.close().catch(() => undefined);
      throw storeFault(error, `reading ${key}`);
    }
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined> {
    const path = objectPath(this.#objects, key);
    signal.throwIfAborted();
    return statObject(key, path);
  }

  localFile(key: string): string {
    return objectPath(this.#objects, key);
  }

  async *list(
    prefix: string,
    options: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<ObjectInfo, void, undefined> {
    for await (const page of this.pages(prefix, options, signal)) yield* page;
  }

  async *pages(
    prefix: string,
    options: { readonly after?: string },
    signal: AbortSignal,
  ): AsyncGenerator<readonly ObjectInfo[], void, undefined> {
    try {
      // A missing folder, for example on a disk that is not mounted, must not look like an empty store.
      await demandFolder(this.#objects);
      for await (const keys of walkObjects(this.#objects, { prefix, ...options, batch: STATS_AT_ONCE }, signal)) {
        // An object removed between the listing and its stat counts as absent.
        const infos = await Promise.all(keys.map((key) => statObject(key, join(this.#objects, key))));
        signal.throwIfAborted();
        yield infos.filter((info) => info !== undefined);
      }
    } catch (error) {
      throw storeFault(error, `listing ${prefix}`);
    }
  }
}

/** Throws unless the folder of all objects exists. */
export async function demandFolder(objects: string): Promise<void> {
  if (!(await stat(objects)).isDirectory()) throw transient(`${objects} is not a directory`, { lack: 'storage' });
}

/** The file of an allowed key. */
export function objectPath(objects: string, key: string): string {
  demandAllowedKey(key);
  return join(objects, key);
}

/**
 * Identifies the content. Each put changes at least the microseconds of the time (Staging). A rename changes nothing, nor does a
 * copy that keeps the time, such as a restored backup. On file systems that store only milliseconds or seconds, two puts may have
 * the same time; there, the inode number distinguishes them.
 */
export function etagOf({ ino, mtimeNs, size }: BigIntStats): string {
  const micros = mtimeNs / 1_000n;
  return [micros, size, ...(micros % 1_000n === 0n ? [ino] : [])].map((part) => part.toString(16)).join('-');
}

function toInfo(key: string, stats: BigIntStats): ObjectInfo {
  return { key, size: Number(stats.size), etag: etagOf(stats), modified: modifiedOf(stats) };
}

export const modifiedOf = (stats: BigIntStats): Date => new Date(Number(stats.mtimeNs / 1_000_000n));

async function statObject(key: string, path: string): Promise<ObjectInfo | undefined> {
  try {
    const stats = await stat(path, { bigint: true });
    return stats.isFile() ? toInfo(key, stats) : undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw storeFault(error, `reading ${key}`);
  }
}

async function fillFrom(handle: FileHandle, key: string, target: Uint8Array, position: number): Promise<void> {
  try {
    for (let filled = 0; filled < target.length; ) {
      const { bytesRead } = await handle.read(target, filled, target.length - filled, position + filled);
      if (bytesRead === 0) throw transient(`reading ${key}: it ended at byte ${position + filled}`);
      filled += bytesRead;
    }
  } catch (error) {
    throw storeFault(error, `reading ${key}`);
  }
}

async function openIfPresent(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw storeFault(error, `reading ${path}`);
  }
}

/** ENOTDIR: a prefix of the key is an object. */
function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
}

// Maps file system errors to failures of the object store.

/** A key that is another key's folder, or a folder in place of a file. Longshore creates no such keys. */
const CLASHES = new Set(['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY', 'ENAMETOOLONG', 'ELOOP']);

/** Converts file system errors into failures that say what was being done. Other errors are returned unchanged. */
export function storeFault(error: unknown, what: string): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  const message = `${what}: ${error.message}`;
  return CLASHES.has(codeOf(error) ?? '')
    ? defect(message, { cause: error })
    : transient(message, { cause: error, lack: 'storage' });
}
