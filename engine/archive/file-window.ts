// Random reads of a local file through one reused buffer. Reads block: archives are read in worker threads, where many
// small waits would cost more than the bytes (docs/design/decisions.md#waits-for-small-files).

import { fstatSync, readSync } from 'node:fs';

const WINDOW_BYTES = 256 * 1024;

export class FileWindow {
  readonly size: number;
  readonly #fd: number;
  readonly #buffer: Buffer;
  #start = 0;
  #length = 0;

  /** The descriptor stays the caller's to close. */
  constructor(fd: number) {
    this.#fd = fd;
    this.size = fstatSync(fd).size;
    // Of a small file no more than it has: the collector counts what nobody touches, too.
    this.#buffer = Buffer.allocUnsafe(Math.min(WINDOW_BYTES, this.size));
  }

  /**
   * Up to `length` bytes at `position`, fewer at the end of the file. A small answer is a view that holds until the
   * next call.
   */
  read(position: number, length: number): Buffer {
    if (position >= this.size) return Buffer.alloc(0);
    const wanted = Math.min(length, this.size - position);
    if (wanted > WINDOW_BYTES) {
      const own = Buffer.allocUnsafe(wanted);
      return own.subarray(0, this.fill(own, position));
    }
    if (position < this.#start || position + wanted > this.#start + this.#length) {
      this.#start = position;
      this.#length = this.fill(this.#buffer, position);
    }
    const from = position - this.#start;
    return this.#buffer.subarray(from, Math.min(from + wanted, this.#length));
  }

  /** Reads to memory of the caller, as much as it takes: fewer bytes at the end of the file. */
  fill(target: Buffer, position: number): number {
    let filled = 0;
    while (filled < target.length) {
      const count = readSync(this.#fd, target, filled, target.length - filled, position + filled);
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }
}
