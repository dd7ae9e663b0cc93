// Writes a zip to a local file. For worker threads: local files are read with blocking calls, and bodies that fit into memory
// are deflated by one.
//
// yazl is not used: it writes data descriptors behind streamed bodies, and readers that stream, as those of Java do, cannot
// read a stored entry with one. Here local headers are complete: sizes are known, and the checksum of a large body is patched in
// afterwards. Names are UTF-8, files are plain files with mode 0644; large and numerous entries switch to zip64
// (APPNOTE 6.3.x).

import { createHash, hash } from 'node:crypto';
import { crc32, createDeflateRaw, deflateRawSync } from 'node:zlib';
import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { type ArchiveOutput, type OutputOptions, sourceChunks, wholeSource, writeArchive } from './archive-output.ts';
import { ZLIB_CHUNK_BYTES, zlibChunks } from './zlib-chunks.ts';

export interface ZipWriteOptions extends OutputOptions {
  /** 0 stores, 1 is fastest, 9 smallest. */
  readonly level: number;
  /** Writes every header in the zip64 form, which is otherwise used only above 4 GiB. */
  readonly forceZip64?: boolean;
}

/** Bodies up to this size are held in memory: what deflate cannot shrink is stored, because it is faster to read back. */
export const WHOLE_BYTES = 512 * 1024;
/** Of a larger body, so many bytes decide whether it is deflated. */
const PROBE_BYTES = 256 * 1024;
/** Deflate takes half a minute of processor time for a GiB that is compressed already, and saves nothing. */
const WORTHWHILE = 0.97;
/** Directory records per write. */
const RECORDS_AT_ONCE = 1_000;
/** Deflating may add a little: from this size on, a packed size might not fit into 32 bits. */
const ZIP64_FROM_BYTES = 0xf0000000;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
const ZIP64_FIELD = 0x0001;
const ZIP64_FIELD_HEAD = 4;
const VERSION = 20;
const VERSION_ZIP64 = 45;
const MADE_BY_UNIX = (3 << 8) | VERSION_ZIP64;
const UTF8_NAME = 0x800;
const PLAIN_FILE_0644 = 0o100644;

interface ZipRecord {
  /** UTF-8. */
  readonly name: Buffer;
  /** Undefined = 1980-01-01, the earliest date of the format. */
  readonly modified: Date | undefined;
  readonly crc: number;
  /** In hex; undefined unless it was asked for. */
  readonly sha256?: string;
  readonly size: number;
  readonly packedSize: number;
  readonly deflated: boolean;
  /** Of the local header. */
  readonly offset: number;
  readonly zip64: boolean;
}

/**
 * Creates or replaces `target`; removes it when anything fails. Paths must be clean and unique (entry-path.ts). A body longer
 * or shorter than its size is a defect of the caller, whose readers and stores promise sizes.
 */
export async function writeZip(
  target: string,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  options: ZipWriteOptions,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  const add = (output: ArchiveOutput, source: ArchiveSource): Promise<ZipRecord> =>
    (source.size <= WHOLE_BYTES ? addWhole : addLarge)(output, source, options, signal);
  const write = (output: ArchiveOutput) =>
    writeEntries({ output, add, digest: () => output.digest(signal) }, sources, options, signal);
  return writeArchive(target, write, options);
}

/** Like {@link writeZip}, but in memory and with digests: for sources whose sum is small. */
export async function zipInMemory(
  sources: Iterable<ArchiveSource>,
  options: Pick<ZipWriteOptions, 'level'>,
  signal: AbortSignal,
): Promise<WrittenArchive & { readonly zip: Uint8Array }> {
  const chunks: Uint8Array[] = [];
  const output = {
    position: 0,
    async append(bytes: Uint8Array): Promise<void> {
      chunks.push(bytes);
      this.position += bytes.length;
    },
  };
  const all = { ...options, digests: true } as const;
  const add = (to: Output, source: ArchiveSource): Promise<ZipRecord> => addWhole(to, source, all, signal);
  const digest = async (): Promise<string> => hash('sha256', Buffer.concat(chunks), 'hex');
  const written = await writeEntries({ output, add, digest }, sources, all, signal);
  return { ...written, zip: Buffer.concat(chunks) };
}

type Output = Pick<ArchiveOutput, 'position' | 'append'>;

interface ZipTarget<To extends Output> {
  readonly output: To;
  readonly add: (output: To, source: ArchiveSource) => Promise<ZipRecord>;
  /** SHA-256 of what was written, in hex. */
  readonly digest: () => Promise<string>;
}

async function writeEntries<To extends Output>(
  { output, add, digest }: ZipTarget<To>,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  { forceZip64 = false, digests }: ZipWriteOptions,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  const central: Buffer[] = [];
  const files: string[] = [];
  for await (const source of sources) {
    signal.throwIfAborted();
    const record = await add(output, source);
    central.push(centralRecord(record));
    if (record.sha256 !== undefined) files.push(record.sha256);
  }
  const start = output.position;
  for (let at = 0; at < central.length; at += RECORDS_AT_ONCE)
    await output.append(Buffer.concat(central.slice(at, at + RECORDS_AT_ONCE)));
  await output.append(endRecords(central.length, start, output.position - start, forceZip64));
  const written = { bytes: output.position, entries: central.length };
  return digests ? { ...written, digests: { archive: await digest(), files } } : written;
}

async function addWhole(
  output: Output,
  source: ArchiveSource,
  options: ZipWriteOptions,
  signal: AbortSignal,
): Promise<ZipRecord> {
  const raw = await wholeSource(source, signal);
  const packed = options.level > 0 ? deflateRawSync(raw, { level: options.level }) : raw;
  const body = packed.length < raw.length ? packed : raw;
  const draft = draftOf(source, output.position, options, body === packed && body !== raw);
  const sha256 = options.digests ? { sha256: hash('sha256', raw, 'hex') } : {};
  const record = { ...draft, ...sha256, crc: crc32(raw), packedSize: body.length };
  await output.append(localHeader(record));
  await output.append(body);
  return record;
}

async function addLarge(
  output: ArchiveOutput,
  source: ArchiveSource,
  options: ZipWriteOptions,
  signal: AbortSignal,
): Promise<ZipRecord> {
  const { level } = options;
  const sha256 = options.digests && createHash('sha256');
  const chunks = sourceChunks(source, signal);
  const head = await headOf(chunks);
  const deflated = level > 0 && shrinks(head);
  const draft = draftOf(source, output.position, options, deflated);
  await output.append(localHeader(draft));
  const begin = output.position;
  let crc = 0;
  async function* raw(): AsyncGenerator<Uint8Array> {
    for await (const chunk of joined(head, chunks)) {
      crc = crc32(chunk, crc);
      sha256?.update(chunk);
      yield chunk;
    }
  }
  const deflate = { level, chunkSize: ZLIB_CHUNK_BYTES };
  for await (const chunk of deflated ? zlibChunks(createDeflateRaw(deflate), raw()) : raw()) await output.append(chunk);
  const digest = sha256 ? { sha256: sha256.digest('hex') } : {};
  const record = { ...draft, ...digest, crc, packedSize: output.position - begin };
  await output.patch(record.offset, localHeader(record));
  return record;
}

/** The first chunks, of at least {@link PROBE_BYTES} together. The last one is valid until the next is requested. */
async function headOf(chunks: AsyncGenerator<Uint8Array>): Promise<readonly Uint8Array[]> {
  const head: Uint8Array[] = [];
  for (let bytes = 0; ; ) {
    const { done, value } = await chunks.next();
    if (done) return head;
    bytes += value.length;
    const isLast = bytes >= PROBE_BYTES;
    head.push(isLast ? value : Buffer.from(value));
    if (isLast) return head;
  }
}

/** Whether deflate is worth its time, as far as the first bytes tell. */
function shrinks(head: readonly Uint8Array[]): boolean {
  const probe = Buffer.concat(head.map((chunk) => chunk.subarray(0, PROBE_BYTES)));
  return deflateRawSync(probe, { level: 1 }).length < probe.length * WORTHWHILE;
}

async function* joined(head: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* head;
  yield* rest;
}

/** What is known of an entry before its content. */
function draftOf(
  { path, size, modified }: ArchiveSource,
  offset: number,
  { forceZip64 = false }: ZipWriteOptions,
  deflated: boolean,
): ZipRecord {
  const zip64 = forceZip64 || size >= ZIP64_FROM_BYTES || offset >= ZIP64_FROM_BYTES;
  return { name: Buffer.from(path), modified, offset, zip64, size, crc: 0, packedSize: size, deflated };
}

/** Its length does not depend on crc and packedSize, so it can be written first and patched later. */
function localHeader(record: ZipRecord): Buffer {
  const { name, zip64 } = record;
  const extra = zip64 ? zip64Field([record.size, record.packedSize]) : undefined;
  const header = Buffer.alloc(30 + name.length + (extra?.length ?? 0));
  header.writeUInt32LE(0x04034b50, 0);
  writeCommon(header, 4, record);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra?.length ?? 0, 28);
  header.set(name, 30);
  if (extra) header.set(extra, 30 + name.length);
  return header;
}

function centralRecord(record: ZipRecord): Buffer {
  const { name, zip64, size, packedSize, offset } = record;
  const extra = zip64 ? zip64Field([size, packedSize, offset]) : undefined;
  const header = Buffer.alloc(46 + name.length + (extra?.length ?? 0));
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_BY_UNIX, 4);
  writeCommon(header, 6, record);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra?.length ?? 0, 30);
  header.writeUInt32LE(PLAIN_FILE_0644 * 0x10000, 38);
  header.writeUInt32LE(zip64 ? MAX_32 : offset, 42);
  header.set(name, 46);
  if (extra) header.set(extra, 46 + name.length);
  return header;
}

/** The records after the central records, which begin at `start` and take `bytes`. */
function endRecords(entries: number, start: number, bytes: number, forceZip64: boolean): Buffer {
  const zip64 = forceZip64 || entries >= MAX_16 || start >= MAX_32 || bytes >= MAX_32;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(zip64 ? MAX_16 : entries, 8);
  end.writeUInt16LE(zip64 ? MAX_16 : entries, 10);
  end.writeUInt32LE(zip64 ? MAX_32 : bytes, 12);
  end.writeUInt32LE(zip64 ? MAX_32 : start, 16);
  return zip64 ? Buffer.concat([zip64End(entries, start, bytes), end]) : end;
}

function zip64End(entries: number, start: number, bytes: number): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(MADE_BY_UNIX, 12);
  end.writeUInt16LE(VERSION_ZIP64, 14);
  end.writeBigUInt64LE(BigInt(entries), 24);
  end.writeBigUInt64LE(BigInt(entries), 32);
  end.writeBigUInt64LE(BigInt(bytes), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  // The locator: where the record above begins, on the only disk.
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(start + bytes), 64);
  end.writeUInt32LE(1, 72);
  return end;
}

/** The fields that local and central headers share, in the same order. */
function writeCommon(header: Buffer, at: number, record: ZipRecord): void {
  header.writeUInt16LE(record.zip64 ? VERSION_ZIP64 : VERSION, at);
  header.writeUInt16LE(UTF8_NAME, at + 2);
  header.writeUInt16LE(record.deflated ? 8 : 0, at + 4);
  header.writeUInt32LE(dosTime(record.modified), at + 6);
  header.writeUInt32LE(record.crc, at + 10);
  header.writeUInt32LE(record.zip64 ? MAX_32 : record.packedSize, at + 14);
  header.writeUInt32LE(record.zip64 ? MAX_32 : record.size, at + 18);
}

function zip64Field(values: readonly number[]): Buffer {
  const field = Buffer.alloc(ZIP64_FIELD_HEAD + values.length * 8);
  field.writeUInt16LE(ZIP64_FIELD, 0);
  field.writeUInt16LE(values.length * 8, 2);
  for (const [i, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), ZIP64_FIELD_HEAD + i * 8);
  return field;
}

/** In steps of two seconds, in UTC so that the bytes do not depend on the machine. */
function dosTime(modified: Date | undefined): number {
  const year = modified?.getUTCFullYear() ?? 0;
  if (!modified || year < 1980) return 0x00210000;
  if (year > 2107) return 0xff9fbf7d;
  const date = ((year - 1980) << 9) | ((modified.getUTCMonth() + 1) << 5) | modified.getUTCDate();
  const time = (modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5) | (modified.getUTCSeconds() >> 1);
  return date * 0x10000 + time;
}
