// Walks a tree of objects in byte order of their keys, in memory that does not grow with the number of names.
//
// A small folder is read at once, and the next few folders are prefetched. A large folder is scanned completely as often as
// needed; each pass keeps the next names in order, at most one window of them. Names are latin1 strings of their bytes, so that
// string comparison is byte order. A folder's name ends with a slash, so that it sorts where its keys do.

import type { Dirent } from 'node:fs';
import { opendir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../runtime/failure.ts';

interface WalkOptions {
  /** May end inside a name. */
  readonly prefix: string;
  /** Keys up to and including this one are skipped. */
  readonly after?: string;
  /** Maximum number of keys per batch. */
  readonly batch: number;
  /** Names of one large folder that are kept at a time. */
  readonly window?: number;
  /** Folders up to this size, as reported by the file system, are small. */
  readonly smallBytes?: number;
}

/** In every file system a name takes at least one byte of its folder, so a small folder has at most a window of names. */
const WINDOW_NAMES = 65_536;
const SMALL_BYTES = 65_536;
const NAMES_PER_READ = 512;
const READ_AHEAD = 16;

/** Yields keys in batches. Symbolic links and special files are not objects. */
export async function* walkObjects(
  objects: string,
  options: WalkOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  const walk = new Walk(objects, options, signal);
  const base = walk.range.base;
  if (base === undefined) return;
  const open = [await walk.enter(base)];
  let keys: string[] = [];
  for (let folder = open.at(-1); folder; folder = open.at(-1)) {
    signal.throwIfAborted();
    const name = folder.names[folder.next];
    if (name === undefined) {
      if (!folder.more) open.pop();
      else await walk.fill(folder);
    } else if (name.endsWith('/')) {
      open.push(await walk.enterNext(folder));
    } else {
      folder.next++;
      if (keys.push(fromBytes(folder.base + name)) < options.batch) continue;
      yield keys;
      keys = [];
    }
  }
  if (keys.length > 0) yield keys;
}

interface Folder {
  /** Key of the folder with a slash, or '' for the root; latin1. */
  readonly base: string;
  names: string[];
  next: number;
  /** True when the folder has more names after the window. */
  more: boolean;
  /** Small subfolders that are being prefetched, by name. Undefined when one turned out to be large. */
  readonly ahead: Map<string, Promise<string[] | undefined>>;
}

class Walk {
  readonly range: KeyRange;
  readonly #objects: string;
  readonly #window: number;
  readonly #smallBytes: number;
  readonly #signal: AbortSignal;

  constructor(objects: string, options: WalkOptions, signal: AbortSignal) {
    this.range = new KeyRange(options.prefix, options.after);
    this.#objects = objects;
    this.#window = options.window ?? WINDOW_NAMES;
    this.#smallBytes = options.smallBytes ?? SMALL_BYTES;
    this.#signal = signal;
  }

  async enter(base: string, small = this.#readSmall(base)): Promise<Folder> {
    const names = await small;
    const folder: Folder = { base, names: names ?? [], next: 0, more: names === undefined, ahead: new Map() };
    if (folder.more) await this.fill(folder);
    return folder;
  }

  /** Enters the next folder inside `folder` and prefetches those after it. */
  async enterNext(folder: Folder): Promise<Folder> {
    for (const name of folder.names.slice(folder.next, folder.next + READ_AHEAD)) {
      if (!name.endsWith('/') || folder.ahead.has(name)) continue;
      const small = this.#readSmall(folder.base + name);
      // The result may never be used.
      small.catch(() => {});
      folder.ahead.set(name, small);
    }
    const name = folder.names[folder.next++] ?? '';
    const small = folder.ahead.get(name);
    folder.ahead.delete(name);
    return this.enter(folder.base + name, small);
  }

  /** One pass over a large folder: replaces the window by the names after it. */
  async fill(folder: Folder): Promise<void> {
    const last = folder.names.at(-1) ?? '';
    let names: string[] = [];
    let bound: string | undefined;
    const cut = (): void => {
      names.sort();
      if (names.length <= this.#window) return;
      names = names.slice(0, this.#window);
      bound = names.at(-1);
    };
    await ignoreAbsent(async () => {
      const options = { encoding: 'latin1', bufferSize: NAMES_PER_READ } as const;
      for await (const entry of await opendir(this.#path(folder.base), options)) {
        this.#signal.throwIfAborted();
        const name = this.#nameOf(folder.base, entry);
        if (name === undefined || name <= last || (bound !== undefined && name > bound)) continue;
        if (names.push(name) >= 2 * this.#window) cut();
      }
    });
    cut();
    Object.assign(folder, { names, next: 0, more: bound !== undefined });
  }

  /** Undefined when the folder is large; empty when it is gone. */
  async #readSmall(base: string): Promise<string[] | undefined> {
    const path = this.#path(base);
    let names: string[] | undefined = [];
    await ignoreAbsent(async () => {
      const { size } = await stat(path);
      if (size > this.#smallBytes) {
        names = undefined;
        return;
      }
      const entries = await readdir(path, { encoding: 'latin1', withFileTypes: true });
      names = entries.map((entry) => this.#nameOf(base, entry)).filter((name) => name !== undefined);
      names.sort();
    });
    return names;
  }

  #nameOf(base: string, entry: Dirent): string | undefined {
    if (!entry.isDirectory() && !entry.isFile()) return undefined;
    const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
    return this.range.admits(base + name) ? name : undefined;
  }

  #path(base: string): string {
    return join(this.#objects, fromBytes(base));
  }
}

/** Folders may be pruned while we walk, and the first may never have been created. */
async function ignoreAbsent(read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
  }
}

/** The keys that a listing includes, and the folders that lead to them. */
class KeyRange {
  readonly #prefix: string;
  readonly #after: string | undefined;

  constructor(prefix: string, after: string | undefined) {
    this.#prefix = toBytes(prefix);
    this.#after = after === undefined ? undefined : toBytes(after);
  }

  /** The folder to start in. Undefined when no key can have the prefix. */
  get base(): string | undefined {
    const base = this.#prefix.slice(0, this.#prefix.lastIndexOf('/') + 1);
    const segments = base.split('/').slice(0, -1);
    const possible = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
    return possible && !base.includes('\0') ? base : undefined;
  }

  /** @param path ends with a slash if it is a folder */
  admits(path: string): boolean {
    const isFolder = path.endsWith('/');
    if (!path.startsWith(this.#prefix) && !(isFolder && this.#prefix.startsWith(path))) return false;
    return this.#after === undefined || path > this.#after || (isFolder && this.#after.startsWith(path));
  }
}

const toBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
