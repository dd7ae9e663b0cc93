// The entries of a zip; the next ones are inflated while the current one is written, since they do not depend on each other.
// The process's own thread pool (libuv's) inflates bytes that were read before. An entry's error is reported when that entry is
// read. The amount ahead is bounded, and read buffers are reused: leaving them to the collector costs a fifth of the time.

import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import type { ZipMember } from './zip-directory.ts';

export interface MemberAhead {
  readonly member: ZipMember;
  /** Its complete content; undefined when it is not inflated ahead. */
  readonly inflated: Promise<Buffer> | undefined;
}

/** Smaller entries are inflated when they are read: not worth a trip to another thread. */
export const INLINE_BYTES = 32 * 1024;
/** Inflated bytes, of the entry being read and of those ahead of it. */
const AHEAD_BYTES = 12 * 1024 * 1024;
/** How many directory entries are read ahead. */
const AHEAD_ENTRIES = 8;
const inflate = promisify(inflateRaw);

/** Fills `target` with the member's packed bytes; it is as long as the member's compressed size. */
export type ReadPacked = (member: ZipMember, target: Buffer) => void;

/**
 * Inflates deflated entries ahead when their size, packed and unpacked, is from 32 KiB to `maxBytes`; `read` reads their packed
 * bytes.
 */
export async function* inflatedAhead(
  members: AsyncIterable<ZipMember>,
  maxBytes: number,
  read: ReadPacked,
): AsyncGenerator<MemberAhead> {
  const memory = new PackedMemory();
  const next = members[Symbol.asyncIterator]();
  const ahead: MemberAhead[] = [];
  let bytes = 0;
  let ended = false;
  try {
    for (;;) {
      while (!ended && ahead.length < AHEAD_ENTRIES && bytes < AHEAD_BYTES) {
        const { done, value: member } = await next.next();
        ended = done === true;
        if (done) break;
        const inflated = isWorthIt(member, maxBytes) ? start(member, memory, read) : undefined;
        ahead.push({ member, inflated });
        if (inflated) bytes += member.size;
      }
      const first = ahead.shift();
      if (!first) return;
      yield first;
      if (first.inflated) bytes -= first.member.size;
    }
  } finally {
    await Promise.allSettled(ahead.map(({ inflated }) => inflated));
    await next.return?.();
  }
}

/** Room for one byte more than declared is enough to notice a wrong size without inflating the rest. */
export const inflateOptions = ({
  size,
}: ZipMember): { readonly chunkSize: number; readonly maxOutputLength: number } => ({
  chunkSize: Math.max(64, size + 1),
  maxOutputLength: size + 1,
});

function isWorthIt({ deflated, size, compressedSize }: ZipMember, maxBytes: number): boolean {
  return deflated && size >= INLINE_BYTES && size <= maxBytes && compressedSize > 0 && compressedSize <= maxBytes;
}

function start(member: ZipMember, memory: PackedMemory, read: ReadPacked): Promise<Buffer> {
  const buffer = memory.take(member.compressedSize);
  const packed = buffer.subarray(0, member.compressedSize);
  const inflated = (async () => {
    try {
      read(member, packed);
      return await inflate(packed, inflateOptions(member));
    } finally {
      memory.give(buffer);
    }
  })();
  // Whoever reads the entry gets the error.
  inflated.catch(() => {});
  return inflated;
}

/** Buffers for packed bytes: as many as entries are inflated at once, each as large as was needed so far. */
class PackedMemory {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    const fits = this.#free.findIndex(({ length }) => length >= bytes);
    // When none is large enough, a larger one replaces one of them.
    const [buffer] = this.#free.splice(Math.max(fits, 0), 1);
    return fits === -1 || !buffer ? Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes))) : buffer;
  }

  give(buffer: Buffer): void {
    this.#free.push(buffer);
  }
}
