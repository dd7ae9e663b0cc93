// Walks a tree of objects in byte order of their keys, in memory that does not grow with the number of names.
//
// A folder is read from end to end as often as needed; each pass keeps the next names in order, at most a window of them.
// Names are handled as latin1 text of their bytes, so that plain string comparison is byte order, and a folder's name
// carries a slash, so that it sorts where its keys do.

import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './directory-store-fault.ts';

export interface WalkOptions {
  /** May end inside a name. */
  readonly prefix: string;
  /** Keys up to and including this one are left out. */
  readonly after?: string;
  /** Most keys yielded at once; fewer at folder borders. */
  readonly batch: number;
  /** Names of one folder kept at a time. */
  readonly window?: number;
}

interface Folder {
  /** Key of the folder with a slash, or '' for the root; latin1. */
  readonly base: string;
  names: string[];
  next: number;
  /** True when the folder has more names behind the window. */
  more: boolean;
}

const WINDOW_NAMES = 65_536;
const NAMES_PER_READ = 512;

/** Yields keys in batches. Symbolic links and special files are no objects. */
export async function* walkObjects(
  objects: string,
  options: WalkOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  const range = new KeyRange(options.prefix, options.after);
  const window = options.window ?? WINDOW_NAMES;
  const base = range.base;
  if (base === undefined) return;
  const open: Folder[] = [{ base, names: [], next: 0, more: true }];
  for (let folder = open.at(-1); folder; folder = open.at(-1)) {
    signal.throwIfAborted();
    if (folder.next === folder.names.length) {
      if (!folder.more) open.pop();
      else await fill(folder, join(objects, fromBytes(folder.base)), range, window, signal);
      continue;
    }
    if (folder.names[folder.next]?.endsWith('/')) {
      const inner = folder.base + folder.names[folder.next++];
      open.push({ base: inner, names: [], next: 0, more: true });
      continue;
    }
    const keys: string[] = [];
    for (let name = folder.names[folder.next]; name && !name.endsWith('/'); name = folder.names[folder.next]) {
      if (keys.length === options.batch) break;
      keys.push(fromBytes(folder.base + name));
      folder.next++;
    }
    yield keys;
  }
}

/** One pass over the folder: the window is replaced by the names that follow it. */
async function fill(folder: Folder, path: string, range: KeyRange, window: number, signal: AbortSignal): Promise<void> {
  const last = folder.names.at(-1) ?? '';
  folder.next = 0;
  folder.names = [];
  folder.more = false;
  let bound: string | undefined;
  const cut = (): void => {
    folder.names.sort();
    if (folder.names.length <= window) return;
    folder.names.length = window;
    folder.more = true;
    bound = folder.names.at(-1);
  };
  try {
    for await (const entry of await opendir(path, { encoding: 'latin1', bufferSize: NAMES_PER_READ })) {
      const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
      if (!entry.isDirectory() && !entry.isFile()) continue;
      if (name <= last || !range.admits(folder.base + name)) continue;
      if (bound !== undefined && name > bound) continue;
      folder.names.push(name);
      if (folder.names.length >= 2 * window) cut();
      signal.throwIfAborted();
    }
  } catch (error) {
    // Pruned meanwhile, or never there.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
  }
  cut();
}

/** Which keys, and which folders on the way to them, a listing wants. */
class KeyRange {
  readonly #prefix: string;
  readonly #after: string | undefined;

  constructor(prefix: string, after: string | undefined) {
    this.#prefix = toBytes(prefix);
    this.#after = after === undefined ? undefined : toBytes(after);
  }

  /** The folder to begin in; undefined when no key can have the prefix. */
  get base(): string | undefined {
    const base = this.#prefix.slice(0, this.#prefix.lastIndexOf('/') + 1);
    const segments = base.split('/').slice(0, -1);
    const possible = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
    return possible && !base.includes('\0') ? base : undefined;
  }

  /** `path` ends with a slash when it is a folder. */
  admits(path: string): boolean {
    const isFolder = path.endsWith('/');
    if (!path.startsWith(this.#prefix) && !(isFolder && this.#prefix.startsWith(path))) return false;
    return this.#after === undefined || path > this.#after || (isFolder && this.#after.startsWith(path));
  }
}

const toBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
