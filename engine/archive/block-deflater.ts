// Deflates a body block by block, several blocks at once, as pigz does: each block is given the end of the one before as
// its dictionary and ends on a byte, so that the blocks one after the other are one deflate stream, hardly larger than one
// made in one go. The blocks are deflated by the process's own thread pool (libuv's), which needs no worker thread beside
// the one that reads and writes; what is done is handed on in order. Small ones are not worth the way there. More blocks
// are filled than are deflated at once: one that is done must not leave a core idle because an earlier one is not.

import { constants, createDeflateRaw, deflateRawSync, type ZlibOptions } from 'node:zlib';

/** Of a block; a smaller one deflates worse, a larger one takes more memory. */
export const BLOCK_BYTES = 512 * 1024;
/** Filled, deflated, or done before their turn. */
export const BLOCKS = 6;
/** More would keep others from the process's thread pool, which has four. */
const AT_ONCE = 3;
/** Deflate's memory for what it has seen: a larger table has fewer false hits, which is a tenth faster at level 6. */
const MEM_LEVEL = 9;
/** Deflated at once, in this thread. */
const INLINE_BYTES = 16 * 1024;
/** As far as deflate looks back. */
const WINDOW_BYTES = 32 * 1024;
/** Room for a block that does not shrink. */
const PACKED_BYTES = BLOCK_BYTES + 4096;

/** What became of a block; both hold until it resolves. */
export type TakePacked = (packed: Uint8Array, raw: Uint8Array) => Promise<void>;

interface Flight {
  /** Behind the dictionary in its memory. */
  readonly block: Buffer;
  readonly length: number;
  readonly packed: Promise<Buffer>;
  readonly take: TakePacked;
}

export class BlockDeflater implements AsyncDisposable {
  readonly #level: number;
  readonly #free: Buffer[] = [];
  /** The oldest first. */
  readonly #flying: Flight[] = [];
  /** Filled, and to be deflated when fewer are. */
  readonly #waiting: (() => Promise<unknown>)[] = [];
  readonly #before = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #deflating = 0;
  #blocks = 0;

  constructor(level: number) {
    this.#level = level;
  }

  /** A block to fill and to give back by {@link start}. Waits until one is free: what is done is taken meanwhile. */
  async block(): Promise<Buffer> {
    if (this.#free.length === 0 && this.#blocks < BLOCKS) {
      this.#blocks++;
      return Buffer.allocUnsafeSlow(WINDOW_BYTES + BLOCK_BYTES).subarray(WINDOW_BYTES);
    }
    while (this.#free.length === 0) await this.#land();
    return this.#free.pop() as Buffer;
  }

  /**
   * Begins to deflate the first `length` bytes of a block. All blocks of a stream but the last must be full, and no other
   * stream's may come between them.
   */
  start(block: Buffer, length: number, stream: { readonly first: boolean; readonly last: boolean }, take: TakePacked) {
    const packed = this.#deflate(block, length, stream);
    // Told by whoever takes it, which may be long after.
    packed.catch(() => {});
    this.#flying.push({ block, length, packed, take });
    if (!stream.last) this.#before.set(block.subarray(length - WINDOW_BYTES, length));
  }

  /** Resolves when all that was started is taken. */
  async drain(): Promise<void> {
    while (this.#flying.length > 0) await this.#land();
  }

  /** Waits for what is being deflated, which cannot be stopped; nobody takes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#flying.splice(0).map(({ packed }) => packed));
  }

  async #deflate(
    block: Buffer,
    length: number,
    { first, last }: { readonly first: boolean; readonly last: boolean },
  ): Promise<Buffer> {
    const raw = block.subarray(0, length);
    const level = this.#level;
    if (first && last && length <= INLINE_BYTES) return deflateRawSync(raw, { level });
    const options = { level, memLevel: MEM_LEVEL };
    const dictionary = Buffer.from(block.buffer, 0, WINDOW_BYTES);
    // By the time that it is deflated, others may have come.
    if (!first) dictionary.set(this.#before);
    const finishFlush = last ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const all = { ...options, chunkSize: PACKED_BYTES, finishFlush, ...(first ? {} : { dictionary }) };
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => deflated(raw, all).then(resolve, reject));
      this.#launch();
    });
  }

  #launch(): void {
    while (this.#deflating < AT_ONCE) {
      const deflate = this.#waiting.shift();
      if (!deflate) return;
      this.#deflating++;
      // Whoever takes the block is told how it ended.
      void deflate().then(() => {
        this.#deflating--;
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
    // Of a large one, the memory is its own: left to the collector, it piles up.
    if (packed.buffer instanceof ArrayBuffer && packed.buffer.byteLength >= PACKED_BYTES) packed.buffer.transfer(0);
  }

  /** Nothing that was started is still to be taken. */
  get idle(): boolean {
    return this.#flying.length === 0;
  }
}

/** Like zlib.deflateRaw, which copies what comes in two pieces, and leaves both the copy and the pieces to the collector. */
function deflated(raw: Buffer, options: ZlibOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    createDeflateRaw(options)
      .on('data', (piece: Buffer) => pieces.push(piece))
      .once('error', reject)
      .once('end', () => resolve(whole(pieces)))
      .end(raw);
  });
}

/** Pieces that were cut from one buffer, one after the other, are a view of it. */
function whole(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  let end = first?.byteOffset;
  for (const piece of pieces) {
    if (piece.buffer !== first?.buffer || piece.byteOffset !== end) return Buffer.concat(pieces, length);
    end += piece.length;
  }
  return first ? Buffer.from(first.buffer, first.byteOffset, length) : Buffer.alloc(0);
}
