// Reads a tar.gz from a file or a stream, entry by entry, without keeping it.

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { type ExtractEvents, extract, type Header } from 'tar-stream';
import { rejected } from '../failure.ts';
import type { ArchiveEntry, ReadOptions } from './archive-entry.ts';
import { archiveFault } from './archive-fault.ts';
import { checkEntryPath, EntryNames, quoteEntry } from './entry-path.ts';
import { InflateBudget } from './inflate-budget.ts';

const CHUNK_BYTES = 256 * 1024;
/** What a tar may spend beside its files: headers with long names, padding, empty records at the end. */
const OVERHEAD_PER_ENTRY_BYTES = 8 * 1024;
const OVERHEAD_BYTES = 1024 * 1024;

/**
 * The files of the archive in its own order; a stream given is destroyed at the end. Fails `rejected`, naming the entry,
 * for everything that the archive rules refuse. A failure of the stream itself is passed on. What is wrong near
 * the end is noticed near the end, so nothing read is good before the loop ended.
 */
export async function* readTarGz(
  source: string | Readable,
  options: ReadOptions,
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry> {
  const input = typeof source === 'string' ? createReadStream(source, { highWaterMark: CHUNK_BYTES }) : source;
  const unpacking = new TarGzUnpacking(input, options, signal);
  try {
    yield* unpacking.files();
  } finally {
    unpacking.close();
  }
}

class TarGzUnpacking {
  readonly #options: ReadOptions;
  readonly #signal: AbortSignal;
  readonly #input: Readable;
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  readonly #tar = extract();
  readonly #budget: InflateBudget;
  readonly #names = new EntryNames();
  #entries = 0;
  #fileBytes = 0;
  #current = '';
  #inputError: { readonly error: unknown } | undefined;

  constructor(input: Readable, options: ReadOptions, signal: AbortSignal) {
    this.#input = input;
    this.#options = options;
    this.#signal = signal;
    this.#budget = new InflateBudget(options.limits);
  }

  async *files(): AsyncGenerator<ArchiveEntry> {
    this.#signal.throwIfAborted();
    const abort = (): void => this.close();
    this.#signal.addEventListener('abort', abort, { once: true });
    // Every failure destroys the whole chain and surfaces in the loop below, at the tar's end of it.
    const unpacked = pipeline(
      () => this.#readInput(),
      this.#gunzip,
      (inflated: AsyncIterable<Buffer>) => this.#meter(inflated),
      // Its stream class is not Node's but keeps to the same events.
      this.#tar as unknown as NodeJS.WritableStream,
    );
    unpacked.catch(() => {});
    try {
      for await (const entry of this.#tar) {
        const file = this.#checkHeader(entry.header);
        const chunks = new Chunks(entry);
        if (file) yield { ...file, body: this.#body(chunks, file) };
        // Whatever was not read lies between us and the next header.
        while (await chunks.next()) this.#signal.throwIfAborted();
      }
      await unpacked;
      this.#signal.throwIfAborted();
      this.#names.finish();
      if (this.#names.count === 0) throw rejected('the archive holds no files');
    } catch (error) {
      throw this.#fault(error);
    } finally {
      this.#signal.removeEventListener('abort', abort);
    }
  }

  close(): void {
    this.#input.destroy();
    this.#gunzip.destroy();
    this.#tar.destroy();
  }

  async *#readInput(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#input;
    } catch (error) {
      this.#inputError = { error };
      throw error;
    }
  }

  /** Guards what lies between the files: an endless run of headers or of empty records is no file at all. */
  async *#meter(inflated: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { maxTotalBytes } = this.#options.limits;
    let bytes = 0;
    for await (const chunk of inflated) {
      bytes += chunk.length;
      this.#budget.checkRatio(this.#current, bytes, this.#gunzip.bytesWritten);
      const overhead = OVERHEAD_BYTES + this.#entries * OVERHEAD_PER_ENTRY_BYTES;
      if (bytes > maxTotalBytes + overhead)
        throw rejected(`the archive unpacks to more than the ${maxTotalBytes} bytes allowed`);
      yield chunk;
    }
  }

  #checkHeader(header: Header): Pick<ArchiveEntry, 'path' | 'size'> | undefined {
    this.#entries++;
    this.#budget.countEntry();
    const shown = quoteEntry(header.name);
    const check = checkEntryPath(header.name);
    if ('fault' in check) throw rejected(`entry ${shown} ${check.fault}`);
    if (header.type === 'link' || header.type === 'symlink') throw rejected(`entry ${shown} is a link`);
    if (header.type === 'directory') return undefined;
    if (header.type !== 'file' && header.type !== 'contiguous-file')
      throw rejected(`entry ${shown} is neither a file nor a folder`);
    if (isSparse(header)) throw rejected(`entry ${shown} is a sparse file, which is not supported`);
    const { size } = header;
    this.#fileBytes += size;
    this.#budget.checkDeclared(header.name, size, this.#fileBytes);
    if ('dropped' in check) return undefined;
    this.#current = check.path;
    this.#names.add(check.path);
    const file = { path: check.path, size };
    this.#options.inspect?.(file);
    return file;
  }

  async *#body(chunks: Chunks, file: Pick<ArchiveEntry, 'path' | 'size'>): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for (let chunk = await chunks.next(); chunk; chunk = await chunks.next()) {
        this.#signal.throwIfAborted();
        bytes += chunk.length;
        // The ratio is the meter's business: what gunzip has read so far says nothing about one entry.
        this.#budget.take(file.path, chunk.length, bytes, Number.POSITIVE_INFINITY);
        yield chunk;
      }
      this.#signal.throwIfAborted();
      if (bytes !== file.size) throw rejected(`entry ${quoteEntry(file.path)} is cut off: the archive ends inside it`);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #fault(error: unknown): unknown {
    const cause = this.#inputError ? this.#inputError.error : error;
    // A foreign error of the stream must not pass for damage of the archive.
    if (this.#inputError && !this.#signal.aborted && !(cause instanceof Error && 'syscall' in cause)) return cause;
    return archiveFault(cause, 'the archive', this.#signal);
  }
}

/** Reads an entry without destroying it when its reader leaves early, which would take the archive down with it. */
class Chunks {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #ended = false;

  constructor(entry: ExtractEvents['entry'][1]) {
    this.#iterator = (entry as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  }

  /** Undefined at the end and ever after. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#ended) return undefined;
    const next = await this.#iterator.next();
    this.#ended = next.done === true;
    return next.done ? undefined : next.value;
  }
}

/** The current sparse formats hide the map in the file's own bytes. */
function isSparse(header: Header): boolean {
  const { pax } = header as { readonly pax?: Readonly<Record<string, string>> | null };
  return Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'));
}
