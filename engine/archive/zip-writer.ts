// Writes a zip to a local file. Sizes are known before and checksums are patched in afterwards, so local headers are
// complete and no data descriptors are needed: readers that stream can read stored entries too. Large and numerous
// entries switch to zip64. For worker threads: small entries are deflated in one blocking call.

import { crc32, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { defect } from '../failure.ts';
import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { type ArchiveOutput, writeArchive } from './archive-output.ts';
import { quoteEntry } from './entry-path.ts';
import { centralRecord, endRecords, localHeader, type ZipRecord } from './zip-records.ts';
import { ZLIB_CHUNK_BYTES, zlibChunks } from './zlib-chunks.ts';

export interface ZipWriteOptions {
  /** 0 stores, 1 is fastest, 9 smallest. */
  readonly level: number;
  /** Writes every header in the zip64 form, as it is needed for more than 4 GiB. */
  readonly forceZip64?: boolean;
}

/** Entries up to this size are held whole. */
const WHOLE_BYTES = 4 * 1024 * 1024;
/** Deflating may add a little: from here on a packed size might not fit 32 bits. */
const ZIP64_FROM_BYTES = 0xf0000000;

/**
 * Creates or replaces `target`, which is gone again when anything fails. Paths must be clean and unique (entry-path.ts).
 * A body longer or shorter than its size is a defect of the caller, whose readers and stores promise sizes.
 */
export async function writeZip(
  target: string,
  sources: Iterable<ArchiveSource> | AsyncIterable<ArchiveSource>,
  options: ZipWriteOptions,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  return writeArchive(target, async (output) => {
    const central: Buffer[] = [];
    for await (const source of sources) {
      signal.throwIfAborted();
      central.push(centralRecord(await writeEntry(output, source, options, signal)));
    }
    const start = output.position;
    for (const record of central) await output.append(record);
    await output.append(endRecords(central.length, start, output.position - start, options.forceZip64 ?? false));
    return { bytes: output.position, entries: central.length };
  });
}

async function writeEntry(
  output: ArchiveOutput,
  source: ArchiveSource,
  options: ZipWriteOptions,
  signal: AbortSignal,
): Promise<ZipRecord> {
  const base = {
    name: Buffer.from(source.path),
    modified: source.modified,
    offset: output.position,
    zip64: options.forceZip64 === true || source.size >= ZIP64_FROM_BYTES || output.position >= ZIP64_FROM_BYTES,
    size: source.size,
  };
  if (source.size <= WHOLE_BYTES) return writeWhole(output, source, base, options.level, signal);
  const draft = { ...base, crc: 0, packedSize: 0, deflated: options.level > 0 };
  await output.append(localHeader(draft));
  const start = output.position;
  const checked = new CheckedBody(source, signal);
  const packed = draft.deflated ? deflated(checked, options.level) : checked;
  for await (const chunk of packed) await output.append(chunk);
  const record = { ...draft, crc: checked.crc, packedSize: output.position - start };
  await output.patch(record.offset, localHeader(record));
  return record;
}

async function writeWhole(
  output: ArchiveOutput,
  source: ArchiveSource,
  base: Pick<ZipRecord, 'name' | 'modified' | 'offset' | 'zip64' | 'size'>,
  level: number,
  signal: AbortSignal,
): Promise<ZipRecord> {
  const checked = new CheckedBody(source, signal);
  const whole = await readWhole(source, checked);
  const packed = level > 0 && whole.length > 0 ? deflateRawSync(whole, { level }) : whole;
  // What deflate cannot shrink is stored: it is read back faster.
  const shrunk = packed.length < whole.length;
  const body = shrunk ? packed : whole;
  const record = { ...base, crc: checked.crc, packedSize: body.length, deflated: shrunk };
  await output.append(localHeader(record));
  await output.append(body);
  return record;
}

/** Copied together, since the body uses the memory of its chunks again. */
async function readWhole({ size, body }: ArchiveSource, checked: CheckedBody): Promise<Uint8Array> {
  const whole = body instanceof Uint8Array ? body : Buffer.allocUnsafe(size);
  let held = 0;
  for await (const chunk of checked) {
    if (chunk !== body) whole.set(chunk, held);
    held += chunk.length;
  }
  return whole;
}

const deflated = (body: AsyncIterable<Uint8Array>, level: number): AsyncIterable<Uint8Array> =>
  zlibChunks(createDeflateRaw({ level, chunkSize: ZLIB_CHUNK_BYTES }), body);

/** The body with its checksum taken and its size held to what was promised. */
class CheckedBody {
  readonly #source: ArchiveSource;
  readonly #signal: AbortSignal;
  crc = 0;

  constructor(source: ArchiveSource, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { path, size, body } = this.#source;
    let bytes = 0;
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      this.#signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > size) throw defect(`entry ${quoteEntry(path)} has more than the ${size} bytes announced`);
      this.crc = crc32(chunk, this.crc);
      if (chunk.length > 0) yield chunk;
    }
    if (bytes !== size) throw defect(`entry ${quoteEntry(path)} has ${bytes} bytes, not the ${size} announced`);
  }
}
