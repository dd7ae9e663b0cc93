// Reads of a zip, for yauzl and for the bodies. They block: archives are read in worker threads, where many small waits would
// cost more than the reads (docs/design/decisions.md#waits-for-small-files).

import { fstatSync, readSync } from 'node:fs';
import { RandomAccessReader } from 'yauzl';

/** Packed bytes read at a time. */
const CHUNK_BYTES = 128 * 1024;

export class ZipFileReader extends RandomAccessReader {
  readonly size: number;
  readonly #fd: number;
  /** One body is read at a time. */
  readonly #chunk: Buffer;

  /** The caller closes the descriptor. */
  constructor(fd: number) {
    super();
    this.#fd = fd;
    this.size = fstatSync(fd).size;
    this.#chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, this.size));
  }

  /** Fewer at the end of the file. */
  bytesAt(position: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, this.#fill(bytes, position));
  }

  /** At most `most` bytes; valid until the next call. */
  chunkAt(position: number, most: number): Buffer {
    const chunk = this.#chunk.subarray(0, most);
    return chunk.subarray(0, this.#fill(chunk, position));
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    // yauzl also reads the count, which the type declaration leaves out.
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    let filled: number;
    try {
      filled = this.#fill(buffer.subarray(offset, offset + length), position);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback(null, filled);
  }

  override _readStreamForRange(): never {
    throw new Error('bodies are read by readBody');
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }

  #fill(target: Buffer, position: number): number {
    let filled = 0;
    while (filled < target.length) {
      const count = readSync(this.#fd, target, filled, target.length - filled, position + filled);
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }
}
