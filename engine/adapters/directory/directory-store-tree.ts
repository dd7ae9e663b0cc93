// The folders below `objects/`: made when an object comes, removed when the last one leaves, synced so that both last.

import { mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './directory-store-fault.ts';

/** Racing removals prune folders under a put; each loss of that race costs one attempt. */
const MOVE_ATTEMPTS = 100;

export class ObjectTree {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Renames the file to `target`, replacing what is there, with the folders that it needs. */
  async moveIn(file: string, target: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await mkdir(dirname(target), { recursive: true, mode: 0o750 });
      try {
        return await rename(file, target);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === MOVE_ATTEMPTS) throw error;
        // When the file itself is gone this was no race over folders, and trying again cannot help.
        await stat(file);
      }
    }
  }

  /** False when it was gone already. */
  async unlink(file: string): Promise<boolean> {
    try {
      await unlink(file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /** Removes empty folders from `folder` upwards; returns the lowest that stays. */
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

  /** Syncs the folder and all above it, for any of them may be new. */
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
      // Pruned by a racing removal, which syncs what is above.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
