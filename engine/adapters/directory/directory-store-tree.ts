// The folders below `objects/`: created for the first object, removed with the last, and synced so that both are durable.

import { mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../runtime/failure.ts';

/** Concurrent removals may prune folders during a put; each time costs one attempt. */
const MOVE_ATTEMPTS = 100;
/** Folders that are remembered as durable: more than have puts at a time. */
const DURABLE_FOLDERS = 1_000;

export class ObjectTree {
  readonly #root: string;
  readonly #durable = new DurableFolders();

  constructor(root: string) {
    this.#root = root;
  }

  /** Creates the root if it is missing. */
  async open(): Promise<void> {
    const first = await mkdir(this.#root, { recursive: true, mode: 0o750 });
    if (first === undefined) return;
    for (let at = dirname(this.#root); ; at = dirname(at)) {
      await this.sync(at);
      if (at === dirname(first)) return;
    }
  }

  /** Renames the file to `target`, replacing an existing file and creating missing folders. */
  async moveIn(file: string, target: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await rename(file, target);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === MOVE_ATTEMPTS) throw error;
      }
      const created = await mkdir(dirname(target), { recursive: true, mode: 0o750 });
      // Somebody else has just created the folder, or it was not the folder that is missing.
      if (created === undefined) await stat(file);
    }
  }

  /** False if there is no such file. */
  async unlink(file: string): Promise<boolean> {
    try {
      await unlink(file);
      return true;
    } catch (error) {
      if (NO_FILE.has(codeOf(error) ?? '')) return false;
      throw error;
    }
  }

  /** Removes empty folders from `folder` upwards. Returns the lowest folder that remains. */
  async prune(folder: string): Promise<string> {
    for (let at = folder; at !== this.#root; at = dirname(at)) {
      try {
        await rmdir(at);
        this.#durable.delete(at);
      } catch (error) {
        const code = codeOf(error);
        if (code === 'ENOTEMPTY' || code === 'EEXIST') return at;
        if (code !== 'ENOENT') throw error;
      }
    }
    return this.#root;
  }

  /**
   * Makes the files in these folders durable: syncs each folder, and as many of its ancestors as may be new, each once.
   *
   * The ancestors of a folder that is known to be durable need no sync. It is durable since all of them were synced after it had
   * been created. Since then it was never removed, or it would be another folder now, with another id. So its ancestors were
   * never empty, and never removed either.
   */
  async makeDurable(folders: Iterable<string>): Promise<void> {
    const synced = new Map<string, string | undefined>();
    for (const folder of folders) {
      for (let at = folder; !synced.has(at); at = dirname(at)) {
        const id = await this.sync(at);
        synced.set(at, id);
        if (at === this.#root || (id !== undefined && this.#durable.has(at, id))) break;
      }
    }
    for (const [folder, id] of synced) if (id !== undefined) this.#durable.add(folder, id);
  }

  /** Returns what tells the folder from others that had the same path; undefined if it is gone, or cannot be told. */
  async sync(folder: string): Promise<string | undefined> {
    try {
      await using handle = await open(folder, 'r');
      const { ino, birthtimeNs } = await handle.stat({ bigint: true });
      await handle.sync();
      // Without a time of birth, a later folder may have the same inode.
      return birthtimeNs > 0n ? `${ino}-${birthtimeNs}` : undefined;
    } catch (error) {
      // Pruned by a concurrent removal, which syncs the folder above.
      if (codeOf(error) !== 'ENOENT') throw error;
      return undefined;
    }
  }
}

/** Of the key of a folder, of a key below an object, and of keys that are too long to be there. */
const NO_FILE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG']);

/** Paths with the ids of the folders there. Forgets the one that was not used for longest. */
class DurableFolders {
  readonly #ids = new Map<string, string>();

  has(folder: string, id: string): boolean {
    return this.#ids.get(folder) === id;
  }

  add(folder: string, id: string): void {
    this.#ids.delete(folder);
    this.#ids.set(folder, id);
    if (this.#ids.size <= DURABLE_FOLDERS) return;
    for (const oldest of this.#ids.keys()) {
      this.#ids.delete(oldest);
      return;
    }
  }

  delete(folder: string): void {
    this.#ids.delete(folder);
  }
}
