// Has a large file written to disk while it still grows. A sync at its end alone would wait for all of it, and so would every
// other sync on a file system that writes in order: those of small files and of the database.

import type { FileHandle } from 'node:fs/promises';

/** Files below it are synced once, at their end. */
export const EARLY_SYNC_BYTES = 64 * 1024 * 1024;

export class EarlySync {
  readonly #handle: Pick<FileHandle, 'datasync'>;
  /** Since the latest sync began. */
  #bytes = 0;
  #running: Promise<void> | undefined;
  #fault: { readonly error: unknown } | undefined;

  constructor(handle: Pick<FileHandle, 'datasync'>) {
    this.#handle = handle;
  }

  /** Call it after each write. Throws if an earlier sync failed: the kernel reports lost bytes only once. */
  wrote(bytes: number): void {
    this.#bytes += bytes;
    if (this.#fault) throw this.#fault.error;
    if (this.#bytes < EARLY_SYNC_BYTES || this.#running) return;
    this.#bytes = 0;
    this.#running = this.#handle.datasync().then(
      () => {
        this.#running = undefined;
      },
      (error: unknown) => {
        this.#running = undefined;
        this.#fault = { error };
      },
    );
  }

  /** Resolves when nothing uses the handle any more. What was written last is not synced. */
  async end(): Promise<void> {
    await this.#running;
    if (this.#fault) throw this.#fault.error;
  }
}
