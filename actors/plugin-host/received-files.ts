// The files that an upload consists of, on their way from the store to the import's input folder. The upload lane packs them and
// removes them from the store. If the import is called in this process, it finds them as files and need not unpack them again.

import type { ObjectReader } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { ObjectFile } from '../tasks/task-map.ts';
import type { LinkedTree, UnpackedTrees } from './unpacked-trees.ts';

interface ReceivedFilesOptions {
  readonly trees: Pick<UnpackedTrees, 'link'>;
  readonly store: Pick<ObjectReader, 'head' | 'localFile'>;
  /** Keys of the plugins that are called in this process. */
  readonly plugins: readonly string[];
  readonly log: Logger;
}

export class ReceivedFiles {
  readonly #options: ReceivedFilesOptions;

  constructor(options: ReceivedFilesOptions) {
    this.#options = options;
  }

  /**
   * Links the files, which are in the archive as they are, before they are removed from the store. Undefined if that is of no use
   * or does not work: the archive has everything.
   */
  async link(
    plugin: string,
    archive: ObjectFile,
    files: readonly ObjectFile[],
    signal: AbortSignal,
  ): Promise<LinkedTree | undefined> {
    const { trees, store, plugins, log } = this.#options;
    if (!store.localFile || !plugins.includes(plugin)) return undefined;
    let linked: LinkedTree | undefined;
    try {
      const { localFile } = store;
      const pathOf = ({ key }: ObjectFile): string => localFile.call(store, key);
      linked = await trees.link(
        pathOf(archive),
        files.map((file) => ({ name: file.name, size: file.size, file: pathOf(file) })),
      );
      // Otherwise, some of the files may not be those that are in this archive.
      if (linked && (await this.#areThere([archive, ...files], signal))) return linked;
    } catch (err) {
      log.debug({ err, archive: archive.key }, 'received files are not kept');
    }
    await linked?.drop();
    return undefined;
  }

  async #areThere(objects: readonly ObjectFile[], signal: AbortSignal): Promise<boolean> {
    for (const { key, etag } of objects) if ((await this.#options.store.head(key, signal))?.etag !== etag) return false;
    return true;
  }
}
