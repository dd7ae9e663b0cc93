// Deflates blocks one after the other with one reused stream. A stream per block would allocate and clear half a MiB each time,
// which costs a twentieth of deflating it. The blocks are independent: each ends on a byte boundary and has no history to refer
// to. So several streams may deflate the blocks of one body, and the results can be joined.

import { constants, createDeflateRaw, type DeflateRaw } from 'node:zlib';
import { giveBackWithLast } from '../runtime/give-back.ts';

/** Size of output chunks, before they are copied to the target. */
const CHUNK_BYTES = 256 * 1024;
/** Deflate's memory for matches: a larger table has fewer false hits, which is a tenth faster at level 6. */
const MEM_LEVEL = 9;
/** Ends a deflate stream that consists of whole blocks: an empty block marked as the last. */
const END = Buffer.from([3, 0]);

/** Room for an incompressible block and its end. */
export const packedBytes = (rawBytes: number): number => rawBytes + 4096;

export class ReusedDeflate implements Disposable {
  readonly #zlib: DeflateRaw;
  #target: Buffer = Buffer.alloc(0);
  #filled = 0;

  constructor(level: number) {
    const flush = constants.Z_FULL_FLUSH;
    this.#zlib = createDeflateRaw({ level, memLevel: MEM_LEVEL, chunkSize: CHUNK_BYTES, flush });
    this.#zlib.on('data', (piece: Buffer) => this.#put(piece));
    // The failing write reports it.
    this.#zlib.on('error', () => {});
  }

  /**
   * Fills `target`, which has {@link packedBytes} of the length of `raw`, and returns the filled part. One block at a time;
   * both buffers are the caller's again when it settles. Do not use it after a failure.
   */
  async deflate(raw: Buffer, target: Buffer, last: boolean): Promise<Buffer> {
    this.#target = target;
    this.#filled = 0;
    if (raw.length > 0) await this.#write(raw);
    if (last) this.#append(END);
    return target.subarray(0, this.#filled);
  }

  /** Must not be called while a block is being deflated. */
  [Symbol.dispose](): void {
    this.#zlib.destroy();
  }

  #write(raw: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#zlib.write(raw, (error) => (error ? reject(error) : resolve()));
    });
  }

  #put(piece: Buffer): void {
    this.#append(piece);
    giveBackWithLast(piece, CHUNK_BYTES);
  }

  #append(bytes: Uint8Array): void {
    this.#target.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }
}
