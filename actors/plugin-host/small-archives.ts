// The files of small archives, kept in memory for other calls that unpack the same one: one for each target of a dataset. A
// thread takes about a millisecond of processor time to unpack a file of a few bytes; to write it takes 0.05 ms.

import { join } from 'node:path';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { Archives, Unpacked } from '../tasks/archives.ts';
import { identityOf } from './tree-state.ts';
import type { Workspace } from './workspace.ts';

/** Of the archive, and of its files. */
const MOST_BYTES = 64 * 1024;
const MOST_FILES = 8;
const MOST_ARCHIVES = 32;

export class SmallArchives {
  readonly #archives: Archives;
  /** By the identity of the archive, the oldest first. Undefined: not small, or not unpacked. */
  readonly #known = new Map<string, Promise<Unpacked | undefined>>();

  constructor(archives: Archives) {
    this.#archives = archives;
  }

  /** @param dir an empty folder of the workspace */
  async unpack(
    file: string,
    { workspace, dir, limits }: { readonly workspace: Workspace; readonly dir: string; readonly limits: ArchiveLimits },
    signal: AbortSignal,
  ): Promise<Unpacked> {
    const order = { file, kind: 'zip', dir, limits } as const;
    // Unpacking it says what is wrong with it.
    const id = await identityOf(file, MOST_BYTES).catch(() => undefined);
    if (id === undefined) return this.#archives.unpack(order, signal);
    const known = this.#known.get(id);
    const earlier = known && (await unlessAborted(known, signal));
    if (known && !earlier) return this.#archives.unpack(order, signal);
    if (earlier) {
      const { files, contents = [] } = earlier;
      for (const [n, { name }] of files.entries())
        await workspace.data(join(dir, name), contents[n] ?? Buffer.alloc(0));
      return earlier;
    }
    const unpacking = this.#archives.unpack({ ...order, contents: { bytes: MOST_BYTES, files: MOST_FILES } }, signal);
    this.#add(id, unpacking);
    return unpacking;
  }

  #add(id: string, unpacking: Promise<Unpacked>): void {
    const small = unpacking.then(
      (unpacked) => (unpacked.contents ? unpacked : undefined),
      () => undefined,
    );
    this.#known.set(id, small);
    // A call that was ended says nothing about the archive.
    unpacking.catch(() => this.#known.delete(id));
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_ARCHIVES) break;
      this.#known.delete(oldest);
    }
  }
}
