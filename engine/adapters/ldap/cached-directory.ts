// A directory that falls back to its last results while it is unavailable.

import type { DatabaseAddress, Directory } from '../../ports/directory.ts';
import type { Logger } from '../../runtime/log.ts';

export class CachedDirectory implements Directory {
  readonly #directory: Directory;
  readonly #log: Logger;
  /** By common name; bounded by the number of databases in the configuration. */
  readonly #known = new Map<string, DatabaseAddress>();

  constructor(directory: Directory, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  async find(commonName: string, signal: AbortSignal): Promise<DatabaseAddress> {
    try {
      const found = await this.#directory.find(commonName, signal);
      this.#known.set(commonName, found);
      return found;
    } catch (error) {
      const known = this.#known.get(commonName);
      if (!known || signal.aborted) throw error;
      this.#log.warn(
        { err: error, database: commonName, at: known },
        'directory unavailable; using the last known address of a database',
      );
      return known;
    }
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#directory.probe(signal);
  }
}
