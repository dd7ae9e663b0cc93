// The central directory of a zip, entry by entry; each entry is checked against everything that its header alone can violate.
// yauzl parses. It also trusts the entry count, so a directory that continues after the last counted entry is refused: tools
// that write the count modulo 65,536 would otherwise lose files silently.

import { crc32 } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';
import { decodeUtf8, foreignNameFault, onlyIn437, quoteBytes } from '../model/utf8.ts';
import { rejected } from '../runtime/failure.ts';
import { archiveFault } from './archive-fault.ts';
import type { ArchiveNotes } from './archive-notes.ts';
import { checkEntryPath, quoteEntry, withSlashes } from './entry-path.ts';
import type { FileWindow } from './file-window.ts';
import { type InflateBudget, tooManyEntries } from './inflate-budget.ts';

/** A file's place in the archive; folders and dropped files are not yielded. */
export interface ZipMember {
  readonly path: string;
  readonly size: number;
  readonly compressedSize: number;
  readonly crc: number;
  readonly deflated: boolean;
  /** Offset of the local header. */
  readonly offset: number;
}

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

/** Yields the files in directory order. Counts every entry of any kind against the budget. */
export async function* zipMembers(
  window: FileWindow,
  budget: InflateBudget,
  maxEntries: number,
  signal: AbortSignal,
  notes?: ArchiveNotes,
): AsyncGenerator<ZipMember> {
  const zip = await openDirectory(window, signal);
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
  const beyond = window.read(end, 4);
  if (beyond.length === 4 && beyond.readUInt32LE() === CENTRAL_SIGNATURE)
    throw rejected(`the archive says that it has ${zip.entryCount} entries but has more`);
}

async function openDirectory(window: FileWindow, signal: AbortSignal): Promise<ZipFile> {
  try {
    return await fromRandomAccessReaderPromise(new WindowReader(window), window.size, {
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

/** Serves yauzl's header reads from the window. */
class WindowReader extends RandomAccessReader {
  readonly #window: FileWindow;

  constructor(window: FileWindow) {
    super();
    this.#window = window;
  }

  override _readStreamForRange(): never {
    throw new Error('bodies are read by zip-reader.ts');
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    // yauzl also reads the count, which the type declaration leaves out.
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    let found: Buffer;
    try {
      found = this.#window.read(position, length);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback(null, found.copy(buffer, offset));
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }
}
