// The folders below `objects/`: created for the first object, removed with the last, and synced so that both are durable.

import { mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../runtime/failure.ts';

/** Concurrent removals may prune folders during a put; each time costs one attempt. */
const MOVE_ATTEMPTS = 100;

export class ObjectTree {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Renames the file to `target`, replacing an existing file and creating missing folders. */
  async moveIn(file: string, target: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await mkdir(dirname(target), { recursive: true, mode: 0o750 });
      try {
        return await rename(file, target);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === MOVE_ATTEMPTS) throw error;
        // If the file itself is missing, this was no race over folders, and a retry cannot help.
        await stat(file);
      }
    }
  }

  /** False if the file was gone already. */
  async unlink(file: string): Promise<boolean> {
    try {
      await unlink(file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /** Removes empty folders from `folder` upwards. Returns the lowest folder that remains. */
  async prune(folder: string): Promise<string> {
    for (let at = folder; at !== this.#root; at = dirname(at)) {
      try {
        await rmdir(at);
      } catch (error) {
        const code = codeOf(error);
        if (code === 'ENOTEMPTY' || code === 'EEXIST') return at;
        if (code !== 'ENOENT') throw error;
      }
    }
    return this.#root;
  }

  /** Syncs the folder and all its ancestors, because any of them may be new. */
  async syncUpwards(folder: string): Promise<void> {
    for (let at = folder; ; at = dirname(at)) {
      await this.sync(at);
      if (at === this.#root) return;
    }
  }

  async sync(folder: string): Promise<void> {
    try {
      await using handle = await open(folder, 'r');
      await handle.sync();
    } catch (error) {
      // Pruned by a concurrent removal, which syncs the folder above.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
