// The entries of a zip, the next ones being inflated while the one before is written: they do not depend on each other.
// It is done by the process's own thread pool (libuv's) on bytes that were read before; what goes wrong with an entry is
// told when it is read. What is ahead is bounded, and what is read lies in memory that is used again: left to the collector,
// it costs a fifth of the time.

import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import type { ZipMember } from './zip-directory.ts';

export interface MemberAhead {
  readonly member: ZipMember;
  /** Its whole content; undefined when it is not inflated ahead. */
  readonly inflated: Promise<Buffer> | undefined;
}

/** Smaller ones are inflated when their turn comes: not worth the way to another thread. */
export const INLINE_BYTES = 32 * 1024;
/** Unpacked, of the entry that is read and of those ahead of it. */
const AHEAD_BYTES = 12 * 1024 * 1024;
/** A directory is read ahead no further than this. */
const AHEAD_ENTRIES = 8;
const inflate = promisify(inflateRaw);

/** Fills `target`, as long as the member's compressed size, with its packed bytes. */
export type ReadPacked = (member: ZipMember, target: Buffer) => void;

/**
 * Those that are deflated and have from 32 KiB up to `maxBytes`, packed and unpacked, are inflated ahead, from
 * what `read` reads of them.
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

/** One byte more than declared is room enough to notice a lie without inflating it. */
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
  // Told to whoever reads the entry.
  inflated.catch(() => {});
  return inflated;
}

/** For packed bytes: as many buffers as entries are inflated at once, each as large as it had to be so far. */
class PackedMemory {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    const fits = this.#free.findIndex(({ length }) => length >= bytes);
    // Where none is large enough, a larger one takes the place of one.
    const [buffer] = this.#free.splice(Math.max(fits, 0), 1);
    return fits === -1 || !buffer ? Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes))) : buffer;
  }

  give(buffer: Buffer): void {
    this.#free.push(buffer);
  }
}
