// Reads a zip from a local file: first the whole directory is checked, then bodies are inflated and compared with
// what the directory said. For worker threads: small entries are read and inflated in one blocking go.

import { type FileHandle, open } from 'node:fs/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { rejected } from '../failure.ts';
import type { ArchiveEntry, ReadOptions } from './archive-entry.ts';
import { archiveFault } from './archive-fault.ts';
import { detectArchive, MAGIC_BYTES } from './archive-kind.ts';
import { EntryNames, quoteEntry } from './entry-path.ts';
import { FILE_CHUNK_BYTES, fileChunks } from './file-chunks.ts';
import { FileWindow } from './file-window.ts';
import { inflatedAhead, inflateOptions, type MemberAhead, type ReadPacked } from './inflate-ahead.ts';
import { InflateBudget } from './inflate-budget.ts';
import { type ZipMember, zipMembers } from './zip-directory.ts';
import { ZLIB_CHUNK_BYTES, zlibChunks } from './zlib-chunks.ts';

/** Entries up to this size, packed and unpacked, are held whole: one read, one inflate call. */
const WHOLE_BYTES = 4 * 1024 * 1024;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;

/**
 * The files of the archive in its own order. Fails `rejected`, naming the entry, for everything that the archive rules
 * refuse; nothing is yielded unless the whole directory is in order.
 */
export async function* readZip(file: string, options: ReadOptions, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
  signal.throwIfAborted();
  await using handle = await open(file, 'r').catch((error: unknown) => {
    throw archiveFault(error, 'the archive', signal);
  });
  const directory = new FileWindow(handle.fd);
  checkStart(directory.read(0, MAGIC_BYTES));
  await inspectDirectory(directory, options, signal);
  const budget = new InflateBudget(options.limits);
  const members = zipMembers(directory, budget, options.limits.maxEntries, signal);
  const archive: OpenArchive = { handle, window: new FileWindow(handle.fd), budget };
  const read: ReadPacked = (member, target) => {
    const filled = archive.window.fill(target, findData(archive.window, member));
    if (filled < target.length) throw lies(member, 'is cut off: the archive ends before it');
  };
  for await (const next of inflatedAhead(members, WHOLE_BYTES, read))
    yield { path: next.member.path, size: next.member.size, body: readBody(archive, next, signal) };
}

function checkStart(start: Buffer): void {
  const kind = detectArchive(start);
  if (kind === 'zip') return;
  if (kind === 'empty zip') throw rejected('the archive is empty');
  if (kind === 'split zip') throw rejected('the archive is one part of a split zip; join the parts first');
  throw rejected('the archive is not a zip file');
}

async function inspectDirectory(window: FileWindow, options: ReadOptions, signal: AbortSignal): Promise<void> {
  const budget = new InflateBudget(options.limits);
  const names = new EntryNames();
  let totalBytes = 0;
  for await (const member of zipMembers(window, budget, options.limits.maxEntries, signal)) {
    names.add(member.path);
    totalBytes += member.size;
    budget.checkDeclared(member.path, member.size, totalBytes);
    options.inspect?.(member);
  }
  names.finish();
  if (names.count === 0) throw rejected('the archive holds no files');
}

interface OpenArchive {
  readonly handle: FileHandle;
  readonly window: FileWindow;
  /** For the chunks of large entries, once there is one; only one is read at a time. */
  buffer?: Buffer;
  readonly budget: InflateBudget;
}

async function* readBody(
  archive: OpenArchive,
  { member, inflated }: MemberAhead,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let crc = 0;
  try {
    const whole = member.size <= WHOLE_BYTES && member.compressedSize <= WHOLE_BYTES;
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

/** Where the entry's bytes begin; the local header's own lengths count, not the directory's. */
function findData(window: FileWindow, member: ZipMember): number {
  const header = window.read(member.offset, LOCAL_HEADER_BYTES);
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE() !== LOCAL_SIGNATURE)
    throw lies(member, 'is damaged: it has no header where the directory says');
  const start = member.offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (start + member.compressedSize > window.size) throw lies(member, 'is cut off: the archive ends before it');
  return start;
}

function readPackedWhole(archive: OpenArchive, member: ZipMember): Buffer {
  const packed = archive.window.read(findData(archive.window, member), member.compressedSize);
  if (packed.length < member.compressedSize) throw lies(member, 'is cut off: the archive ends before it');
  return packed;
}

async function* readWhole(
  archive: OpenArchive,
  member: ZipMember,
  inflated: Promise<Buffer> | undefined,
): AsyncGenerator<Uint8Array> {
  // The window is reused by the next entry: stored bytes are copied.
  if (!member.deflated) {
    const packed = readPackedWhole(archive, member);
    if (packed.length > 0) yield Buffer.from(packed);
    return;
  }
  const content = await inflateWhole(archive, member, inflated);
  if (content.length === 0) return;
  yield content;
  // Of a large one, the memory is its own: left to the collector, it piles up.
  if (inflated && content.buffer instanceof ArrayBuffer) content.buffer.transfer(0);
}

async function inflateWhole(
  archive: OpenArchive,
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

function readStream(archive: OpenArchive, member: ZipMember): AsyncIterable<Uint8Array> {
  const packed = readPacked(archive, member, findData(archive.window, member));
  return member.deflated ? zlibChunks(createInflateRaw({ chunkSize: ZLIB_CHUNK_BYTES }), packed) : packed;
}

async function* readPacked(archive: OpenArchive, member: ZipMember, start: number): AsyncGenerator<Uint8Array> {
  const range = { from: start, length: member.compressedSize };
  let bytes = 0;
  archive.buffer ??= Buffer.allocUnsafeSlow(FILE_CHUNK_BYTES);
  for await (const chunk of fileChunks(archive.handle, range, archive.buffer)) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes < range.length) throw rejected('the archive became shorter while it was read');
}
