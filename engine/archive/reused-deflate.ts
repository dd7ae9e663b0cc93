// Deflates one block after the other with one stream, made once: a stream for each block would have half a MiB made and
// cleared for it each time, which costs a twentieth of deflating it. The blocks do not know of each other: each ends
// on a byte with nothing to look back at, so that those of one body may be deflated by several streams and put together.

import { constants, createDeflateRaw, type DeflateRaw } from 'node:zlib';
import { giveBackWithLast } from '../give-back.ts';

/** Of what comes out, while it is copied to where it is wanted. */
const CHUNK_BYTES = 256 * 1024;
/** Deflate's memory for what it has seen: a larger table has fewer false hits, which is a tenth faster at level 6. */
const MEM_LEVEL = 9;
/** Ends a deflate stream that consists of whole blocks: an empty block that says that it is the last. */
const END = Buffer.from([3, 0]);

/** Room for a block that does not shrink, with its end. */
export const packedBytes = (rawBytes: number): number => rawBytes + 4096;

export class ReusedDeflate implements Disposable {
  readonly #zlib: DeflateRaw;
  #target: Buffer = Buffer.alloc(0);
  #filled = 0;

  constructor(level: number) {
    const flush = constants.Z_FULL_FLUSH;
    this.#zlib = createDeflateRaw({ level, memLevel: MEM_LEVEL, chunkSize: CHUNK_BYTES, flush });
    this.#zlib.on('data', (piece: Buffer) => this.#put(piece));
    // Told by the write that fails.
    this.#zlib.on('error', () => {});
  }

  /**
   * Fills `target`, which has {@link packedBytes} of the length of `raw`, and gives what it is filled with. One block at a
   * time; both are the caller's again when it settles. After a failure it is of no more use.
   */
  async deflate(raw: Buffer, target: Buffer, last: boolean): Promise<Buffer> {
    this.#target = target;
    this.#filled = 0;
    if (raw.length > 0) await this.#write(raw);
    if (last) this.#append(END);
    return target.subarray(0, this.#filled);
  }

  /** Not while a block is being deflated. */
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
