// Counts what an archive really inflates to and stops it at the limits (design, Create and the upload lane, 5).

import { rejected } from '../failure.ts';
import type { ArchiveLimits } from './archive-entry.ts';
import { quoteEntry } from './entry-path.ts';

/** Below this an inflation ratio means nothing: small texts of blanks are honest. */
const RATIO_FLOOR_BYTES = 100 * 1024 * 1024;
const MAX_RATIO = 1000;

export class InflateBudget {
  readonly #limits: ArchiveLimits;
  #entries = 0;
  #totalBytes = 0;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  countEntry(): void {
    this.#entries++;
    if (this.#entries > this.#limits.maxEntries)
      throw rejected(`the archive has more than ${this.#limits.maxEntries} entries`);
  }

  /** Refuses early when the header itself admits that a limit is broken. */
  checkDeclared(path: string, size: number, totalBytes: number): void {
    this.checkFile(path, size);
    if (totalBytes > this.#limits.maxTotalBytes) throw this.#tooLarge(path);
  }

  checkFile(path: string, bytes: number): void {
    if (bytes > this.#limits.maxFileBytes)
      throw rejected(
        `entry ${quoteEntry(path)} is larger than the ${this.#limits.maxFileBytes} bytes allowed per file`,
      );
  }

  /**
   * Accounts for `bytes` that came out of the entry, which has given `fileBytes` in all. `compressedBytes` is what the
   * archive had to spend on everything so far, or more.
   */
  take(path: string, bytes: number, fileBytes: number, compressedBytes: number): void {
    this.#totalBytes += bytes;
    this.checkFile(path, fileBytes);
    if (this.#totalBytes > this.#limits.maxTotalBytes) throw this.#tooLarge(path);
    this.checkRatio(path, this.#totalBytes, compressedBytes);
  }

  checkRatio(path: string, inflatedBytes: number, compressedBytes: number): void {
    if (inflatedBytes > RATIO_FLOOR_BYTES && inflatedBytes > MAX_RATIO * compressedBytes)
      throw rejected(`entry ${quoteEntry(path)} inflates to more than ${MAX_RATIO} times its compressed size`);
  }

  #tooLarge(path: string): Error {
    return rejected(
      `at entry ${quoteEntry(path)} the archive unpacks to more than the ${this.#limits.maxTotalBytes} bytes allowed`,
    );
  }
}
