// The limits of an archive. Counts the bytes that it actually inflates to, and stops it at the limits
// (docs/design/decisions.md#create-and-the-upload-lane).

import { rejected } from '../runtime/failure.ts';
import { stopwatch } from '../runtime/time.ts';
import { quoteEntry } from './entry-path.ts';

/** Enforced on the bytes that are actually inflated, never on what headers state. */
export interface ArchiveLimits {
  readonly maxTotalBytes: number;
  readonly maxFileBytes: number;
  /** Entries of any kind, dropped ones and folders included. */
  readonly maxEntries: number;
  /** Of all entries together; absent = no limit of its own beyond `maxEntries`. */
  readonly maxNameBytes?: number;
  /** From opening to the end; absent = no time limit. */
  readonly maxMs?: number;
}

/** The entry limit when a caller sets no smaller one (docs/design/decisions.md#archive-module). */
export const MAX_ENTRIES = 100_000;

/** Below this the inflation ratio is not checked: small texts of blanks have high ratios, too. */
const RATIO_FLOOR_BYTES = 100 * 1024 * 1024;
const MAX_RATIO = 1000;

export class InflateBudget {
  readonly #limits: ArchiveLimits;
  #entries = 0;
  #totalBytes = 0;
  #nameBytes = 0;
  readonly #now: () => number;
  readonly #begun: number;

  /** @param now milliseconds from any instant on; the archive is opened now */
  constructor(limits: ArchiveLimits, now = stopwatch) {
    this.#limits = limits;
    this.#now = now;
    this.#begun = now();
  }

  /** @param nameBytes length of the entry's name */
  countEntry(nameBytes: number): void {
    const { maxEntries, maxNameBytes = Number.MAX_SAFE_INTEGER } = this.#limits;
    this.#entries++;
    this.#nameBytes += nameBytes;
    if (this.#entries > maxEntries) throw tooManyEntries(`more than ${maxEntries}`, maxEntries);
    if (this.#nameBytes > maxNameBytes)
      throw rejected(
        `the names of the first ${this.#entries} entries of the archive have ${this.#nameBytes} bytes; at most ` +
          `${maxNameBytes} are allowed for all`,
      );
    this.#checkTime();
  }

  #checkTime(): void {
    const { maxMs } = this.#limits;
    if (maxMs === undefined) return;
    const ms = this.#now() - this.#begun;
    if (ms > maxMs)
      throw rejected(
        `to unpack the archive takes longer than the ${maxMs / 1000} s allowed: after ${Math.round(ms / 1000)} s it was at ` +
          `entry ${this.#entries} and ${this.#totalBytes} bytes`,
      );
  }

  /** Refuses early when the header itself states that a limit is exceeded. */
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
   * Accounts for `bytes` inflated from the entry, which has yielded `fileBytes` in total. `compressedBytes` is at least what
   * the archive has used for everything so far.
   */
  take(path: string, bytes: number, fileBytes: number, compressedBytes: number): void {
    this.#totalBytes += bytes;
    this.checkFile(path, fileBytes);
    if (this.#totalBytes > this.#limits.maxTotalBytes) throw this.#tooLarge(path);
    this.checkRatio(path, this.#totalBytes, compressedBytes);
    this.#checkTime();
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

/** @param found the number, or a description of it */
export const tooManyEntries = (found: number | string, maxEntries: number): Error =>
  rejected(`the archive has ${found} entries${typeof found === 'number' ? `; at most ${maxEntries} are allowed` : ''}`);
