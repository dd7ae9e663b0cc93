// The reading half of the directory store. Worker threads open this one: they have no database, so no journal.

import type { BigIntStats } from 'node:fs';
import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteRange, ObjectInfo, ObjectReader, OpenObject } from '../../ports/object-store.ts';
import { transient } from '../../runtime/failure.ts';
import { demandAllowedKey } from './allowed-key.ts';
import { codeOf, storeFault } from './directory-store-fault.ts';
import { walkObjects } from './directory-store-walk.ts';

/** A stream takes a new buffer for every chunk: larger ones pile up further before the collector feels them. */
const READ_BYTES = 64 * 1024;
/** Stat calls under way at once while listing. */
const STATS_AT_ONCE = 32;

/** Reads the store at `path`, which need not exist yet: no object is there then, but no listing either. */
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
      // No further than it goes: a small one is read in one go, into memory of its size.
      const end = range?.to ?? Number(stats.size) - 1;
      const body = handle.createReadStream({
        start,
        // Put anew since its size was looked at, it may end before the range begins.
        ...(start <= end ? { end } : {}),
        highWaterMark: READ_BYTES,
        signal,
      });
      // An abort before anybody reads must not end the process; who reads later is told all the same.
      body.on('error', () => {});
      const direct = {
        bytes: Math.max(Math.min(end, Number(stats.size) - 1) - start + 1, 0),
        fill: (target: Uint8Array, position: number) => fillFrom(handle, key, target, start + position),
      };
      return { info: toInfo(key, stats), body, direct };
    } catch (error) {
      await handle?.close();
      throw storeFault(error, `reading ${key}`);
    }
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | undefined> {
    const path = objectPath(this.#objects, key);
    signal.throwIfAborted();
    return statObject(key, path);
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
      // A folder that is away, as of a disk that is not mounted, must not look like one without objects.
      await demandFolder(this.#objects);
      for await (const keys of walkObjects(this.#objects, { prefix, ...options, batch: STATS_AT_ONCE }, signal)) {
        // Removed between the listing and the look at it: not there.
        const infos = await Promise.all(keys.map((key) => statObject(key, join(this.#objects, key))));
        signal.throwIfAborted();
        yield infos.filter((info) => info !== undefined);
      }
    } catch (error) {
      throw storeFault(error, `listing ${prefix}`);
    }
  }
}

/** Throws unless the folder that holds all objects is there. */
export async function demandFolder(objects: string): Promise<void> {
  if (!(await stat(objects)).isDirectory()) throw transient(`${objects} is no directory`);
}

/** The file of a key that is allowed. */
export function objectPath(objects: string, key: string): string {
  demandAllowedKey(key);
  return join(objects, key);
}

/** Identifies the content: the rename into place keeps all three, and a new put changes at least the time. */
export function etagOf(stats: BigIntStats): string {
  return [stats.ino, stats.mtimeNs, stats.size].map((part) => part.toString(16)).join('-');
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

/** ENOTDIR: part of the key is an object. */
function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
}
