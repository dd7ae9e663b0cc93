// Random reads of a local file through one reused buffer. Reads block: archives are read in worker threads, where many small
// waits would cost more than the reads (docs/design/decisions.md#waits-for-small-files).

import { fstatSync, readSync } from 'node:fs';

const WINDOW_BYTES = 256 * 1024;

export class FileWindow {
  readonly size: number;
  readonly #fd: number;
  readonly #buffer: Buffer;
  #start = 0;
  #length = 0;

  /** The caller closes the descriptor. */
  constructor(fd: number) {
    this.#fd = fd;
    this.size = fstatSync(fd).size;
    // No larger than the file, because the collector counts memory that was never touched, too.
    this.#buffer = Buffer.allocUnsafe(Math.min(WINDOW_BYTES, this.size));
  }

  /**
   * Up to `length` bytes at `position`, fewer at the end of the file. A small result is a view that is valid until the next
   * call.
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

  /** Reads into the caller's memory until it is full; fewer bytes at the end of the file. */
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
