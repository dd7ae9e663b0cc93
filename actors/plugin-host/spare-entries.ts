// Folders and files of calls that are over, emptied, for the calls that follow: the folder of a call, the folders in it, the file
// of its metadata, small files of its data, and marks (install-folder.ts).
//
//   created --call ends--> emptied, moved away --next call--> moved to where it needs it
//   changed by a script (mode, owner, another link), or too many: removed with the folder of the call
//   a script failed, so what it started may still run: the folder of the call is removed, as it is
//
// ext4 does not use an inode again for minutes after it was removed. To create a file or folder, it looks at each of these: with
// 5,000 of them that takes 0.3 ms, and without them 0.03 (2026-11-27). Moving takes 0.02 ms.

import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readdir, rename, truncate, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../engine/runtime/failure.ts';
import { removeFile, removeTree } from '../../engine/runtime/files.ts';
import type { Clock } from '../../engine/runtime/time.ts';

/** Of folders in the scratch space that belong to a call, or may be taken by one: the next start removes them. */
export const WORKSPACE_PREFIX = 'call-';
/** Uploads are private. */
export const ROOT_MODE = 0o700;
/** Of files that come from archives (engine/archive/unpack.ts). */
const UNPACKED_MODE = 0o644;
const MOST_OF_A_KIND = 32;
/** A file that was truncated to nothing is written to the disk as soon as it is closed again. */
const EMPTIED_BYTES = 1;

type Kind = 'root' | 'folder' | 'file' | 'data' | 'mark';

export interface SpareEntry {
  readonly kind: Kind;
  readonly path: string;
}

export class SpareEntries {
  readonly #scratch: string;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #spare: Readonly<Record<Kind, string[]>> = { root: [], folder: [], file: [], data: [], mark: [] };
  /** What new ones are like. */
  readonly #like: Partial<Record<Kind, string | undefined>> = {};
  #last = 0;

  /** @param dir for spare entries only, on the file system of `scratch` */
  constructor(scratch: string, dir: string, clock: Clock) {
    this.#scratch = scratch;
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Removes what an earlier process left. Call it before anything else. */
  async open(): Promise<void> {
    await removeTree(this.#dir);
    await mkdir(this.#dir, { recursive: true, mode: ROOT_MODE });
  }

  /** The folder of a call. No other call has had its path. */
  async root(): Promise<SpareEntry> {
    const moved = join(this.#scratch, WORKSPACE_PREFIX + randomBytes(6).toString('hex'));
    const path = (await this.#moved('root', moved)) ? moved : await this.#makeRoot();
    return this.#made('root', path);
  }

  async folder(path: string): Promise<SpareEntry> {
    if (!(await this.#moved('folder', path))) await mkdir(path);
    return this.#made('folder', path);
  }

  /** Replaces a file at that path. @param text not empty */
  async file(path: string, text: string): Promise<SpareEntry> {
    await writeFile(path, text, (await this.#moved('file', path)) ? { flag: 'r+' } : {});
    return this.#made('file', path);
  }

  /** An unpacked file. There must be none at that path. */
  async data(path: string, content: Uint8Array): Promise<SpareEntry> {
    if (content.length >= EMPTIED_BYTES && (await this.#moved('data', path)))
      await writeFile(path, content, { flag: 'r+' });
    else {
      await writeFile(path, content, { flag: 'wx' });
      // The umask must not apply, because scripts may run as another user.
      await chmod(path, UNPACKED_MODE);
    }
    return this.#made('data', path);
  }

  /** A file of which only the name and the time count. Replaces one at that path. */
  async mark(path: string): Promise<void> {
    if (!(await this.#moved('mark', path, new Date(this.#clock.now())))) await writeFile(path, '');
  }

  /** What is not there is fine. */
  async unmark(path: string): Promise<void> {
    if (this.#spare.mark.length >= MOST_OF_A_KIND) return removeFile(path);
    // Also when something has cleaned up the spare entries: a mark must not stay.
    await this.#takeAway('mark', path).catch(() => removeFile(path));
  }

  /** @param entries the first contains the others, which follow in the order in which they were made */
  async takeBack(entries: readonly [SpareEntry, ...SpareEntry[]]): Promise<void> {
    const [{ path: outermost }] = entries;
    try {
      let isKept = false;
      for (const { kind, path } of (await this.#unchanged(entries)).toReversed()) isKept = await this.#keep(kind, path);
      if (isKept) return;
    } catch {
      // Scripts may have done anything to it, or something has cleaned up the spare entries.
      await mkdir(this.#dir, { recursive: true, mode: ROOT_MODE }).catch(() => undefined);
    }
    await removeTree(outermost);
  }

  /** @param time that the entry gets before, so that it counts from then on */
  async #moved(kind: Kind, path: string, time?: Date): Promise<boolean> {
    const spare = this.#spare[kind].pop();
    if (spare === undefined) return false;
    try {
      if (time) await utimes(spare, time, time);
      await rename(spare, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') {
        // Something cleaned it up, or there is no folder for it yet.
        await removeTree(spare);
        return false;
      }
      this.#spare[kind].push(spare);
      // Marks may be on another file system.
      if (codeOf(error) === 'EXDEV') return false;
      throw error;
    }
  }

  async #made(kind: Kind, path: string): Promise<SpareEntry> {
    this.#like[kind] ??= await likenessOf(path);
    return { kind, path };
  }

  /** Nothing of a folder that a script has changed: a link in its place leads to files that are not ours. */
  async #unchanged(entries: readonly SpareEntry[]): Promise<readonly SpareEntry[]> {
    const changed = new Set<string>();
    for (const { kind, path } of entries)
      if (changed.has(dirname(path)) || (await likenessOf(path)) !== this.#like[kind]) changed.add(path);
    return entries.filter(({ path }) => !changed.has(path));
  }

  async #keep(kind: Kind, path: string): Promise<boolean> {
    if (this.#spare[kind].length >= MOST_OF_A_KIND) return false;
    if (kind === 'root' || kind === 'folder') await empty(path);
    else await truncate(path, EMPTIED_BYTES);
    await this.#takeAway(kind, path);
    return true;
  }

  async #takeAway(kind: Kind, path: string): Promise<void> {
    const spare = join(this.#dir, `${++this.#last}`);
    await rename(path, spare);
    this.#spare[kind].push(spare);
  }

  async #makeRoot(): Promise<string> {
    const prefix = join(this.#scratch, WORKSPACE_PREFIX);
    try {
      return await mkdtemp(prefix);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      // Something cleaned up the scratch space.
      await mkdir(this.#scratch, { recursive: true, mode: ROOT_MODE });
      return mkdtemp(prefix);
    }
  }
}

/** Kind, mode and owner; undefined if there is nothing. A file with other links is like no other. */
async function likenessOf(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  if (!found || (!found.isDirectory() && found.nlink > 1)) return undefined;
  return [found.mode, found.uid, found.gid].join(' ');
}

async function empty(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? removeTree(path) : unlink(path));
  }
}
