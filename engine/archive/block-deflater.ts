// Deflates a body block by block, several blocks at once. The blocks in order form one deflate stream, hardly larger than one
// made in one go. The process's own thread pool (libuv's) deflates them, so no worker thread is needed besides the one that
// reads and writes; results are handed on in order. Small blocks are not worth a trip to the pool.
// More blocks are filled than are deflated at once, so that a finished block that waits for an earlier one does not leave a
// core idle. Memory is allocated once per archive and reused: after deflating, touching new memory is the largest cost.

import { deflateRawSync } from 'node:zlib';
import { packedBytes, ReusedDeflate } from './reused-deflate.ts';

/** Bytes per block; smaller blocks compress worse, larger ones take more memory. */
export const BLOCK_BYTES = 512 * 1024;
/** Blocks that are filled, deflated, or finished before their turn. */
export const BLOCKS = 8;
/**
 * All threads of the process's pool, unless it was made larger. Another user of the pool waits for one block, a few
 * milliseconds. With fewer, cores are idle while this thread handles finished blocks.
 */
const AT_ONCE = 4;
/** Blocks up to this size are deflated at once, in this thread. */
const INLINE_BYTES = 16 * 1024;
const TARGET_BYTES = packedBytes(BLOCK_BYTES);

/** Receives a finished block; both buffers stay valid until it resolves. */
export type TakePacked = (packed: Uint8Array, raw: Uint8Array) => Promise<void>;

interface Flight {
  readonly block: Buffer;
  readonly length: number;
  readonly packed: Promise<Buffer>;
  readonly take: TakePacked;
}

export class BlockDeflater implements AsyncDisposable {
  readonly #level: number;
  /** Blocks to be filled. */
  readonly #free: Buffer[] = [];
  /** Buffers to deflate into. */
  readonly #targets: Buffer[] = [];
  readonly #streams: ReusedDeflate[] = [];
  /** Oldest first. */
  readonly #flying: Flight[] = [];
  /** Filled blocks that wait until fewer are being deflated. */
  readonly #waiting: ((stream: ReusedDeflate) => Promise<unknown>)[] = [];
  #deflating = 0;
  #blocks = 0;

  constructor(level: number) {
    this.#level = level;
  }

  /** A block to fill and return with {@link start}. Waits until one is free, and hands on finished blocks meanwhile. */
  async block(): Promise<Buffer> {
    if (this.#free.length === 0 && this.#blocks < BLOCKS) {
      this.#blocks++;
      return Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    while (this.#free.length === 0) await this.#land();
    return this.#free.pop() as Buffer;
  }

  /** Starts to deflate the first `length` bytes of a block. Blocks of different streams must not interleave. */
  start(block: Buffer, length: number, stream: { readonly first: boolean; readonly last: boolean }, take: TakePacked) {
    const packed = this.#deflate(block.subarray(0, length), stream);
    // Whoever takes the block gets the error, which may be much later.
    packed.catch(() => {});
    this.#flying.push({ block, length, packed, take });
  }

  /** Resolves when everything that was started has been taken. */
  async drain(): Promise<void> {
    while (this.#flying.length > 0) await this.#land();
  }

  /** Waits for blocks that are being deflated, which cannot be stopped, and discards them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#flying.splice(0).map(({ packed }) => packed));
    for (const stream of this.#streams.splice(0)) stream[Symbol.dispose]();
  }

  async #deflate(raw: Buffer, { first, last }: { readonly first: boolean; readonly last: boolean }): Promise<Buffer> {
    if (first && last && raw.length <= INLINE_BYTES) return deflateRawSync(raw, { level: this.#level });
    const target = this.#targets.pop() ?? Buffer.allocUnsafeSlow(TARGET_BYTES);
    return new Promise((resolve, reject) => {
      this.#waiting.push((stream) => stream.deflate(raw, target, last).then(resolve, reject));
      this.#launch();
    });
  }

  #launch(): void {
    while (this.#deflating < AT_ONCE) {
      const deflate = this.#waiting.shift();
      if (!deflate) return;
      this.#deflating++;
      const stream = this.#streams.pop() ?? new ReusedDeflate(this.#level);
      // Whoever takes the block gets the error.
      void deflate(stream).then(() => {
        this.#deflating--;
        this.#streams.push(stream);
        this.#launch();
      });
    }
  }

  async #land(): Promise<void> {
    const flight = this.#flying.shift();
    if (!flight) throw new Error('no block is free and none is being deflated');
    const { block, length, take } = flight;
    const packed = await flight.packed;
    await take(packed, block.subarray(0, length));
    this.#free.push(block);
    if (packed.buffer.byteLength === TARGET_BYTES) this.#targets.push(Buffer.from(packed.buffer));
  }

  /** True when nothing that was started is still to be taken. */
  get idle(): boolean {
    return this.#flying.length === 0;
  }
}
