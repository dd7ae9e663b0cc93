// The body of a file in a zip: located, inflated, counted, and compared with its directory entry.

import { readSync } from 'node:fs';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { rejected } from '../runtime/failure.ts';
import { archiveFault } from './archive-fault.ts';
import { quoteEntry } from './entry-path.ts';
import type { FileWindow } from './file-window.ts';
import { INLINE_BYTES, inflateOptions, type MemberAhead } from './inflate-ahead.ts';
import type { InflateBudget } from './inflate-budget.ts';
import type { ZipMember } from './zip-directory.ts';
import { zlibChunks } from './zlib-chunks.ts';

/** Entries up to this size, packed and unpacked, may be held in memory completely. */
export const WHOLE_BYTES = 4 * 1024 * 1024;
/** Bytes inflated at a time: small enough to still be in the processor's cache when written, and to use little memory. */
const CHUNK_BYTES = 256 * 1024;
/** Packed bytes read at a time. */
const PACKED_BYTES = 128 * 1024;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;

/** Shared by all bodies of an archive; several bodies may be read concurrently. */
export interface ZipBodies {
  /** Stays open as long as bodies are read. */
  readonly fd: number;
  readonly window: FileWindow;
  /** Free buffers for packed bytes. */
  readonly buffers: Buffer[];
  readonly budget: InflateBudget;
}

export async function* readBody(
  archive: ZipBodies,
  { member, inflated }: MemberAhead,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let crc = 0;
  try {
    const whole = inflated !== undefined || (member.size <= INLINE_BYTES && member.compressedSize <= INLINE_BYTES);
    for await (const chunk of whole ? readWhole(archive, member, inflated) : readStream(archive, member)) {
      signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > member.size) throw lies(member, `holds more than the ${member.size} bytes that it declares`);
      archive.budget.take(member.path, chunk.length, bytes, archive.window.size);
      archive.budget.checkRatio(member.path, bytes, member.compressedSize);
      crc = crc32(chunk, crc);
      yield chunk;
    }
    if (bytes !== member.size) throw lies(member, `holds ${bytes} bytes but declares ${member.size}`);
    if (crc !== member.crc) throw lies(member, 'is damaged: its checksum is wrong');
  } catch (error) {
    throw archiveFault(error, `entry ${quoteEntry(member.path)}`, signal);
  }
}

function lies(member: ZipMember, how: string): Error {
  return rejected(`entry ${quoteEntry(member.path)} ${how}`);
}

/** Where the entry's bytes begin. Uses the lengths in the local header, not those in the directory. */
function findData(window: FileWindow, member: ZipMember): number {
  const header = window.read(member.offset, LOCAL_HEADER_BYTES);
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE() !== LOCAL_SIGNATURE)
    throw lies(member, 'is damaged: it has no header where the directory says');
  const start = member.offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (start + member.compressedSize > window.size) throw cutOff(member);
  return start;
}

function readPackedWhole(archive: ZipBodies, member: ZipMember): Buffer {
  const packed = archive.window.read(findData(archive.window, member), member.compressedSize);
  if (packed.length < member.compressedSize) throw cutOff(member);
  return packed;
}

/** Fills `target` with the packed body; both have the same length. */
export function readPackedTo(archive: ZipBodies, member: ZipMember, target: Buffer): void {
  const filled = archive.window.fill(target, findData(archive.window, member));
  if (filled < target.length) throw cutOff(member);
}

const cutOff = (member: ZipMember): Error => lies(member, 'is cut off: the archive ends before it');

async function* readWhole(
  archive: ZipBodies,
  member: ZipMember,
  inflated: Promise<Buffer> | undefined,
): AsyncGenerator<Uint8Array> {
  // The next entry reuses the window, so stored bytes are copied.
  if (!member.deflated) {
    const packed = readPackedWhole(archive, member);
    if (packed.length > 0) yield Buffer.from(packed);
    return;
  }
  const content = await inflateWhole(archive, member, inflated);
  if (content.length === 0) return;
  yield content;
  // A large content has its own memory, which would pile up if it were left to the collector.
  if (inflated && content.buffer instanceof ArrayBuffer) content.buffer.transfer(0);
}

async function inflateWhole(
  archive: ZipBodies,
  member: ZipMember,
  inflated: Promise<Buffer> | undefined,
): Promise<Buffer> {
  try {
    return inflated ? await inflated : inflateRawSync(readPackedWhole(archive, member), inflateOptions(member));
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw lies(member, `holds more than the ${member.size} bytes that it declares`);
    throw error;
  }
}

function readStream(archive: ZipBodies, member: ZipMember): AsyncIterable<Uint8Array> {
  const packed = readPacked(archive, member, findData(archive.window, member));
  if (!member.deflated) return packed;
  const chunkSize = Math.min(CHUNK_BYTES, Math.max(64, member.size + 1));
  return zlibChunks(createInflateRaw({ chunkSize }), packed, chunkSize);
}

async function* readPacked(archive: ZipBodies, member: ZipMember, start: number): AsyncGenerator<Uint8Array> {
  const buffer = archive.buffers.pop() ?? Buffer.allocUnsafeSlow(PACKED_BYTES);
  try {
    for (let done = 0; done < member.compressedSize; ) {
      const wanted = Math.min(buffer.length, member.compressedSize - done);
      const bytes = readSync(archive.fd, buffer, 0, wanted, start + done);
      if (bytes === 0) throw rejected('the archive became shorter while it was read');
      done += bytes;
      yield buffer.subarray(0, bytes);
    }
  } finally {
    archive.buffers.push(buffer);
  }
}
