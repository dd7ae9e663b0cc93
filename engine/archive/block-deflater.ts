// Deflates a body block by block, several blocks at once: the blocks one after the other are one deflate stream, hardly
// larger than one made in one go. The blocks are deflated by the process's own thread pool (libuv's), which needs no worker
// thread beside the one that reads and writes; what is done is handed on in order. Small ones are not worth the way there.
// More blocks are filled than are deflated at once: one that is done must not leave a core idle because an earlier one is
// not. All memory is made once for an archive and used again: what is touched for the first time costs most beside deflating.

import { deflateRawSync } from 'node:zlib';
import { packedBytes, ReusedDeflate } from './reused-deflate.ts';

/** Of a block; a smaller one deflates worse, a larger one takes more memory. */
export const BLOCK_BYTES = 512 * 1024;
/** Filled, deflated, or done before their turn. */
export const BLOCKS = 8;
/**
 * All threads of the process's pool, unless that was made larger. Who else needs one waits for one block, some milliseconds;
 * with fewer at once, cores are idle while this thread is busy with what is done.
 */
const AT_ONCE = 4;
/** Deflated at once, in this thread. */
const INLINE_BYTES = 16 * 1024;
const TARGET_BYTES = packedBytes(BLOCK_BYTES);

/** What became of a block; both hold until it resolves. */
export type TakePacked = (packed: Uint8Array, raw: Uint8Array) => Promise<void>;

interface Flight {
  readonly block: Buffer;
  readonly length: number;
  readonly packed: Promise<Buffer>;
  readonly take: TakePacked;
}

export class BlockDeflater implements AsyncDisposable {
  readonly #level: number;
  /** To be filled. */
  readonly #free: Buffer[] = [];
  /** To be deflated to. */
  readonly #targets: Buffer[] = [];
  readonly #streams: ReusedDeflate[] = [];
  /** The oldest first. */
  readonly #flying: Flight[] = [];
  /** Filled, and to be deflated when fewer are. */
  readonly #waiting: ((stream: ReusedDeflate) => Promise<unknown>)[] = [];
  #deflating = 0;
  #blocks = 0;

  constructor(level: number) {
    this.#level = level;
  }

  /** A block to fill and to give back by {@link start}. Waits until one is free: what is done is taken meanwhile. */
  async block(): Promise<Buffer> {
    if (this.#free.length === 0 && this.#blocks < BLOCKS) {
      this.#blocks++;
      return Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    while (this.#free.length === 0) await this.#land();
    return this.#free.pop() as Buffer;
  }

  /**
   * Begins to deflate the first `length` bytes of a block. No other stream's blocks may come between those of a stream.
   */
  start(block: Buffer, length: number, stream: { readonly first: boolean; readonly last: boolean }, take: TakePacked) {
    const packed = this.#deflate(block.subarray(0, length), stream);
    // Told by whoever takes it, which may be long after.
    packed.catch(() => {});
    this.#flying.push({ block, length, packed, take });
  }

  /** Resolves when all that was started is taken. */
  async drain(): Promise<void> {
    while (this.#flying.length > 0) await this.#land();
  }

  /** Waits for what is being deflated, which cannot be stopped; nobody takes it. */
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
      // Whoever takes the block is told how it ended.
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

  /** Nothing that was started is still to be taken. */
  get idle(): boolean {
    return this.#flying.length === 0;
  }
}
