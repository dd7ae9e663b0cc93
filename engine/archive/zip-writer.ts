// Writes a zip to a local file. Sizes are known in advance and checksums are patched in afterwards. So local headers are
// complete and no data descriptors are needed: streaming readers can read stored entries, too. Large and numerous entries
// switch to zip64. For worker threads: local files are read with blocking calls.

import { crc32, deflateRawSync } from 'node:zlib';
import type { ArchiveSource, WrittenArchive } from './archive-entry.ts';
import { type ArchiveOutput, writeArchive } from './archive-output.ts';
import { BLOCK_BYTES, BlockDeflater, type TakePacked } from './block-deflater.ts';
import { readSmallFile, SourceBody } from './source-body.ts';
import {
  centralRecord,
  endRecords,
  localHeader,
  localHeaderBytes,
  needsZip64,
  putLocalHeader,
  type ZipRecord,
} from './zip-records.ts';

export interface ZipWriteOptions {
  /** 0 stores, 1 is fastest, 9 smallest. */
  readonly level: number;
  /** Writes every header in the zip64 form, which is otherwise used only above 4 GiB. */
  readonly forceZip64?: boolean;
}

/** Bodies up to this size are deflated at once, in memory of their own size, unless they have to wait for others. */
const SMALL_BYTES = 16 * 1024;
/** Directory records per write. */
const RECORDS_AT_ONCE = 1_000;

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
  return writeArchive(target, async (output) => {
    await using packing = new ZipPacking(output, options);
    for await (const source of sources) {
      signal.throwIfAborted();
      if (packing.addNow(source)) continue;
      await using body = new SourceBody(source, signal);
      await packing.add(source, body);
    }
    return await packing.finish();
  });
}

class ZipPacking implements AsyncDisposable {
  readonly #output: ArchiveOutput;
  readonly #options: ZipWriteOptions;
  readonly #deflater: BlockDeflater;
  readonly #central: Buffer[] = [];

  constructor(output: ArchiveOutput, options: ZipWriteOptions) {
    this.#output = output;
    this.#options = options;
    this.#deflater = new BlockDeflater(options.level);
  }

  /** Stores a small local file when that needs no waiting; otherwise returns false and does nothing. */
  addNow(source: ArchiveSource): boolean {
    const { size, body } = source;
    if (this.#options.level > 0 || size >= BLOCK_BYTES || !('file' in body)) return false;
    const draft = this.#draft(source, false);
    const length = localHeaderBytes(draft);
    const room = this.#output.roomNow(length + size + 1);
    if (!room) return false;
    readSmallFile(source, body, room.subarray(length, length + size + 1));
    this.#stored(draft, room);
    return true;
  }

  add(source: ArchiveSource, body: SourceBody): Promise<void> {
    if (this.#options.level > 0)
      return source.size <= SMALL_BYTES && this.#deflater.idle
        ? this.#deflateSmall(source, body)
        : this.#deflate(source, body);
    return source.size < BLOCK_BYTES ? this.#storeWhole(source, body) : this.#storeLarge(source, body);
  }

  async finish(): Promise<WrittenArchive> {
    await this.#deflater.drain();
    const output = this.#output;
    const start = output.position;
    const { length } = this.#central;
    for (let at = 0; at < length; at += RECORDS_AT_ONCE)
      await output.append(Buffer.concat(this.#central.slice(at, at + RECORDS_AT_ONCE)));
    await output.append(endRecords(length, start, output.position - start, this.#options.forceZip64 ?? false));
    return { bytes: output.position, entries: length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deflater[Symbol.asyncDispose]();
  }

  /** A record at the output's current position; the content is filled in later. */
  #draft({ path, size, modified }: ArchiveSource, deflated: boolean): ZipRecord {
    const offset = this.#output.position;
    const zip64 = this.#options.forceZip64 === true || needsZip64(size, offset);
    return { name: Buffer.from(path), modified, offset, zip64, size, crc: 0, packedSize: size, deflated };
  }

  /** Reads the body straight into the output buffer, after the space for its header. */
  async #storeWhole(source: ArchiveSource, body: SourceBody): Promise<void> {
    const { size } = source;
    const draft = this.#draft(source, false);
    const length = localHeaderBytes(draft);
    // Room for one byte more than promised shows whether the body is longer.
    const room = await this.#output.room(length + size + 1);
    await body.fill(room.subarray(length, length + size + 1));
    this.#stored(draft, room);
  }

  /** The content already lies in the room, after the space for its header. */
  #stored(draft: ZipRecord, room: Buffer): void {
    const length = localHeaderBytes(draft);
    const record = { ...draft, crc: crc32(room.subarray(length, length + draft.size)) };
    putLocalHeader(record, room);
    this.#output.advance(length + draft.size);
    this.#central.push(centralRecord(record));
  }

  async #storeLarge(source: ArchiveSource, body: SourceBody): Promise<void> {
    const draft = this.#draft(source, false);
    await this.#output.append(localHeader(draft));
    let crc = 0;
    while (body.done < source.size) {
      const room = await this.#output.room();
      const filled = await body.fill(room);
      crc = crc32(room.subarray(0, filled), crc);
      this.#output.advance(filled);
    }
    await body.finish();
    this.#patch({ ...draft, crc });
  }

  /**
   * Most uploads have only small bodies; three blocks of half a MiB for each would be more work for the collector than all
   * else.
   */
  async #deflateSmall(source: ArchiveSource, body: SourceBody): Promise<void> {
    const raw = Buffer.allocUnsafe(source.size);
    await body.fill(raw);
    await body.finish();
    const entry = { source, crc: crc32(raw), draft: undefined, packedSize: 0 };
    await this.#addWhole(entry, deflateRawSync(raw, { level: this.#options.level }), raw);
  }

  async #deflate(source: ArchiveSource, body: SourceBody): Promise<void> {
    const entry: DeflatedEntry = { source, crc: 0, draft: undefined, packedSize: 0 };
    for (let first = true, last = false; !last; first = false) {
      const block = await this.#deflater.block();
      const length = await body.fill(block);
      entry.crc = crc32(block.subarray(0, length), entry.crc);
      last = body.done === source.size;
      const take: TakePacked =
        first && last
          ? (packed, raw) => this.#addWhole(entry, packed, raw)
          : (packed) => this.#addBlock(entry, packed, last);
      this.#deflater.start(block, length, { first, last }, take);
    }
    await body.finish();
  }

  /** What deflate cannot shrink is stored, because it is faster to read back. */
  async #addWhole({ source, crc }: DeflatedEntry, packed: Uint8Array, raw: Uint8Array): Promise<void> {
    const shrunk = packed.length < raw.length;
    const body = shrunk ? packed : raw;
    const record = { ...this.#draft(source, shrunk), crc, packedSize: body.length };
    await this.#output.append(localHeader(record));
    await this.#output.append(body);
    this.#central.push(centralRecord(record));
  }

  async #addBlock(entry: DeflatedEntry, packed: Uint8Array, last: boolean): Promise<void> {
    if (!entry.draft) {
      entry.draft = this.#draft(entry.source, true);
      await this.#output.append(localHeader(entry.draft));
    }
    entry.packedSize += packed.length;
    await this.#output.append(packed);
    if (last) this.#patch({ ...entry.draft, crc: entry.crc, packedSize: entry.packedSize });
  }

  #patch(record: ZipRecord): void {
    this.#output.patch(record.offset, localHeader(record));
    this.#central.push(centralRecord(record));
  }
}

/** What is known so far of an entry of several blocks. */
interface DeflatedEntry {
  readonly source: ArchiveSource;
  /** Of all blocks, once the last one was started. */
  crc: number;
  /** Set from the first block on. */
  draft: ZipRecord | undefined;
  packedSize: number;
}
