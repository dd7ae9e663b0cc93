// Writes a gzip file of one member to an archive's output, deflated in blocks.

import { crc32 } from 'node:zlib';
import type { ArchiveOutput } from './archive-output.ts';
import { BLOCK_BYTES, BlockDeflater, type TakePacked } from './block-deflater.ts';

/** Deflate, no name, no time, no flags, made by Unix. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

export class GzipOutput implements AsyncDisposable {
  readonly #output: ArchiveOutput;
  readonly #deflater: BlockDeflater;
  #block: Buffer | undefined;
  #length = 0;
  #bytes = 0;
  #crc = 0;
  readonly #take: TakePacked = (packed) => this.#output.append(packed);

  constructor(output: ArchiveOutput, level: number) {
    this.#output = output;
    this.#deflater = new BlockDeflater(level);
  }

  /** Free space for the next write; valid until the next call. */
  async room(): Promise<Buffer> {
    if (this.#length === BLOCK_BYTES) this.#start(false);
    if (!this.#block) {
      if (this.#bytes === 0) await this.#output.append(HEADER);
      this.#block = await this.#deflater.block();
    }
    return this.#block.subarray(this.#length);
  }

  /** Marks the first `bytes` bytes of the room as filled. */
  advance(bytes: number): void {
    this.#length += bytes;
  }

  /** Copies the bytes. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      const room = await this.room();
      const part = rest.subarray(0, room.length);
      room.set(part);
      this.advance(part.length);
      rest = rest.subarray(part.length);
    }
  }

  async end(): Promise<void> {
    await this.room();
    this.#start(true);
    await this.#deflater.drain();
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    await this.#output.append(trailer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deflater[Symbol.asyncDispose]();
  }

  #start(last: boolean): void {
    if (!this.#block) return;
    const first = this.#bytes === 0;
    this.#crc = crc32(this.#block.subarray(0, this.#length), this.#crc);
    this.#bytes += this.#length;
    this.#deflater.start(this.#block, this.#length, { first, last }, this.#take);
    this.#block = undefined;
    this.#length = 0;
  }
}
