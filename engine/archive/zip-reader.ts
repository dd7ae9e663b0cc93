// Reads a zip from a local file: first checks the whole directory, then inflates the bodies and compares them with their
// directory entries. For worker threads: the file is read with blocking calls.
//
// yauzl parses the directory. Bodies are ours, because its streams neither compare checksums nor name the entry that is
// damaged. It also trusts the entry count, so a directory that continues after the last counted entry is refused: tools that
// write the count modulo 65,536 would otherwise lose files silently.

import { open } from 'node:fs/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from 'yauzl';
import { decodeUtf8, foreignNameFault, onlyIn437, quoteBytes } from '../model/utf8.ts';
import { rejected } from '../runtime/failure.ts';
import { type ArchiveEntry, type ArchiveNotes, detectArchive, MAGIC_BYTES, type ReadOptions } from './archive-entry.ts';
import { InflateBudget, tooManyEntries } from './archive-limits.ts';
import { checkEntryPath, EntryNames, quoteEntry, withSlashes } from './entry-path.ts';
import { ZipFileReader } from './zip-file-reader.ts';
import { archiveFault, zlibChunks } from './zlib-chunks.ts';

/** A file's place in the archive; folders and dropped files have none. */
interface ZipMember {
  readonly path: string;
  readonly size: number;
  readonly compressedSize: number;
  readonly crc: number;
  readonly deflated: boolean;
  /** Offset of the local header. */
  readonly offset: number;
}

/** Bytes inflated at a time: small enough to still be in the processor's cache when written, and to use little memory. */
const CHUNK_BYTES = 256 * 1024;
/** Entries up to this size, packed and unpacked, are inflated by one call: a stream for each costs a quarter of a ms. */
const WHOLE_BYTES = 64 * 1024;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const CENTRAL_SIGNATURE = 0x02014b50;
const ENCRYPTED = 0x1;
const STRONG_ENCRYPTION = 0x40;
const MASKED_HEADERS = 0x2000;
const UTF8_NAME = 0x800;
const UNICODE_PATH_FIELD = 0x7075;

const TYPE_MASK = 0o170000;
const FOLDER = 0o040000;
const PLAIN = 0o100000;
const LINK = 0o120000;

/**
 * The files of the archive in its own order. Fails with `rejected`, naming the entry, for everything that the archive rules
 * refuse; yields nothing unless the whole directory is valid.
 */
export async function* readZip(file: string, options: ReadOptions, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
  signal.throwIfAborted();
  await using handle = await open(file, 'r').catch((error: unknown) => {
    throw archiveFault(error, 'the archive', signal);
  });
  const zip = new ZipFileReader(handle.fd);
  checkStart(zip.bytesAt(0, MAGIC_BYTES));
  await inspectDirectory(zip, options, signal);
  const budget = new InflateBudget(options.limits);
  for await (const member of zipMembers(zip, budget, options.limits.maxEntries, signal))
    yield { path: member.path, size: member.size, body: readBody(zip, member, budget, signal) };
}

function checkStart(start: Buffer): void {
  const kind = detectArchive(start);
  if (kind === 'zip') return;
  if (kind === 'empty zip') throw rejected('the archive is empty');
  if (kind === 'split zip') throw rejected('the archive is one part of a split zip; join the parts first');
  throw rejected('the archive is not a zip file');
}

async function inspectDirectory(zip: ZipFileReader, options: ReadOptions, signal: AbortSignal): Promise<void> {
  const budget = new InflateBudget(options.limits);
  const names = new EntryNames();
  let totalBytes = 0;
  for await (const member of zipMembers(zip, budget, options.limits.maxEntries, signal, options.notes)) {
    names.add(member.path);
    totalBytes += member.size;
    budget.checkDeclared(member.path, member.size, totalBytes);
    options.inspect?.(member);
  }
  names.finish();
  if (names.count === 0) throw rejected('the archive holds no files');
}

/** Yields the files in directory order. Counts every entry of any kind against the budget. */
async function* zipMembers(
  file: ZipFileReader,
  budget: InflateBudget,
  maxEntries: number,
  signal: AbortSignal,
  notes?: ArchiveNotes,
): AsyncGenerator<ZipMember> {
  const zip = await openDirectory(file, signal);
  if (zip.entryCount > maxEntries) throw tooManyEntries(zip.entryCount, maxEntries);
  const entries = zip.eachEntry();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await entries.next().catch((error: unknown) => {
        throw archiveFault(error, 'the archive', signal);
      });
      if (next.done) break;
      budget.countEntry(next.value.fileNameRaw.length);
      const member = toMember(next.value, notes);
      if (member) yield member;
    }
  } finally {
    zip.close();
  }
  // yauzl keeps the position of the next header here; its type declaration says boolean.
  const end = Number(zip.readEntryCursor);
  const beyond = file.bytesAt(end, 4);
  if (beyond.length === 4 && beyond.readUInt32LE() === CENTRAL_SIGNATURE)
    throw rejected(`the archive says that it has ${zip.entryCount} entries but has more`);
}

async function openDirectory(file: ZipFileReader, signal: AbortSignal): Promise<ZipFile> {
  try {
    return await fromRandomAccessReaderPromise(file, file.size, {
      autoClose: false,
      decodeStrings: false,
      validateEntrySizes: false,
    });
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('multi-disk'))
      throw rejected('the archive is one part of a split zip; join the parts first', { cause: error });
    throw archiveFault(error, 'the archive', signal);
  }
}

function toMember(entry: Entry, notes: ArchiveNotes | undefined): ZipMember | undefined {
  const written = decodeName(entry, notes);
  const raw = withSlashes(written);
  if (raw !== written) notes?.backslashes(written);
  const check = checkEntryPath(raw);
  if ('fault' in check) throw rejected(`entry ${quoteEntry(raw)} ${check.fault}`);
  const type = (entry.externalFileAttributes >>> 16) & TYPE_MASK;
  if (type === LINK) throw rejected(`entry ${quoteEntry(raw)} is a link`);
  if (type !== 0 && type !== PLAIN && type !== FOLDER)
    throw rejected(`entry ${quoteEntry(raw)} is neither a file nor a folder`);
  if ('dropped' in check) {
    if (check.dropped === 'junk' && !raw.endsWith('/')) notes?.leftOut(raw);
    return undefined;
  }
  if (raw.endsWith('/') || type === FOLDER) {
    // If it were left out, its content would be lost silently.
    if (entry.uncompressedSize > 0) throw rejected(`entry ${quoteEntry(raw)} is a folder but has content`);
    return undefined;
  }
  if (entry.generalPurposeBitFlag & (ENCRYPTED | STRONG_ENCRYPTION | MASKED_HEADERS))
    throw rejected(`entry ${quoteEntry(raw)} is encrypted`);
  const { compressionMethod: method } = entry;
  if (method !== 0 && method !== 8)
    throw rejected(`entry ${quoteEntry(raw)} is compressed by method ${method}; store (0) and deflate (8) are allowed`);
  if (method === 0 && entry.compressedSize !== entry.uncompressedSize)
    throw rejected(
      `entry ${quoteEntry(raw)} is stored but says ${entry.compressedSize} bytes inside and ${entry.uncompressedSize} outside`,
    );
  return {
    path: check.path,
    size: entry.uncompressedSize,
    compressedSize: entry.compressedSize,
    crc: entry.crc32,
    deflated: method === 8,
    offset: entry.relativeOffsetOfLocalHeader,
  };
}

/**
 * Many tools write UTF-8 without marking it, so a valid UTF-8 name is read as UTF-8. Any other name is in code page 437, as the
 * format says, or in the unknown code page of the writer.
 */
function decodeName({ fileNameRaw, extraFields, generalPurposeBitFlag: flags }: Entry, notes?: ArchiveNotes): string {
  const unicode = extraFields.find(({ id }) => id === UNICODE_PATH_FIELD)?.data;
  // Version 1, then the checksum of the name it belongs to. The field is ignored when the entry was renamed since.
  if (unicode && unicode[0] === 1 && unicode.length > 5 && unicode.readUInt32LE(1) === crc32(fileNameRaw)) {
    const name = decodeUtf8(unicode.subarray(5));
    if (name !== undefined) return name;
  }
  const name = decodeUtf8(fileNameRaw);
  if (name !== undefined) return name;
  const dos = flags & UTF8_NAME ? undefined : onlyIn437(fileNameRaw);
  if (dos === undefined) throw rejected(`entry ${quoteBytes(fileNameRaw)} ${foreignNameFault(fileNameRaw)}`);
  notes?.converted(dos);
  return dos;
}

async function* readBody(
  zip: ZipFileReader,
  member: ZipMember,
  budget: InflateBudget,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let crc = 0;
  try {
    for await (const chunk of inflated(zip, member)) {
      signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > member.size) throw lies(member, `holds more than the ${member.size} bytes that it declares`);
      budget.take(member.path, chunk.length, bytes, zip.size);
      budget.checkRatio(member.path, bytes, member.compressedSize);
      crc = crc32(chunk, crc);
      yield chunk;
    }
    if (bytes !== member.size) throw lies(member, `holds ${bytes} bytes but declares ${member.size}`);
    if (crc !== member.crc) throw lies(member, 'is damaged: its checksum is wrong');
  } catch (error) {
    throw archiveFault(error, `entry ${quoteEntry(member.path)}`, signal);
  }
}

const lies = (member: ZipMember, how: string): Error => rejected(`entry ${quoteEntry(member.path)} ${how}`);

async function* inflated(zip: ZipFileReader, member: ZipMember): AsyncGenerator<Uint8Array> {
  const start = findData(zip, member);
  const packed = packedChunks(zip, member, start);
  // Room for one byte more than declared is enough to notice a wrong size without inflating the rest.
  const chunkSize = Math.min(CHUNK_BYTES, Math.max(64, member.size + 1));
  if (!member.deflated) yield* packed;
  else if (member.size <= WHOLE_BYTES && member.compressedSize <= WHOLE_BYTES)
    yield inflatedWhole(zip.chunkAt(start, member.compressedSize), member);
  else yield* zlibChunks(createInflateRaw({ chunkSize }), packed, chunkSize);
}

function inflatedWhole(packed: Buffer, member: ZipMember): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: member.size + 1 });
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw lies(member, `holds more than the ${member.size} bytes that it declares`);
    throw error;
  }
}

/** Where the entry's bytes begin. Uses the lengths in the local header, not those in the directory. */
function findData(zip: ZipFileReader, member: ZipMember): number {
  const header = zip.bytesAt(member.offset, LOCAL_HEADER_BYTES);
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE() !== LOCAL_SIGNATURE)
    throw lies(member, 'is damaged: it has no header where the directory says');
  const start = member.offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (start + member.compressedSize > zip.size) throw lies(member, 'is cut off: the archive ends before it');
  return start;
}

async function* packedChunks(zip: ZipFileReader, member: ZipMember, start: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < member.compressedSize; ) {
    const chunk = zip.chunkAt(start + done, member.compressedSize - done);
    if (chunk.length === 0) throw rejected('the archive became shorter while it was read');
    done += chunk.length;
    yield chunk;
  }
}
