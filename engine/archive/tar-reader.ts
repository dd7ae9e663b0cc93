// Reads a tar.gz from a file or a stream, entry by entry, without keeping it.

import { closeSync, openSync, readSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { decodeUtf8, foreignNameFault, quoteBytes } from '../model/utf8.ts';
import { defect, rejected } from '../runtime/failure.ts';
import type { ArchiveEntry, ReadOptions } from './archive-entry.ts';
import { InflateBudget } from './archive-limits.ts';
import { checkEntryPath, EntryNames, quoteEntry, withSlashes } from './entry-path.ts';
import { TarEntries, type TarEntry } from './tar-entries.ts';
import { archiveFault, zlibChunks } from './zlib-chunks.ts';

/** Large, because the inflating thread waits for this one at each chunk. */
const CHUNK_BYTES = 1024 * 1024;
/** What a tar may use in addition to its files: headers with long names, padding, empty records at the end. */
const OVERHEAD_PER_ENTRY_BYTES = 8 * 1024;
const OVERHEAD_BYTES = 1024 * 1024;

/**
 * The files of the archive in its own order; destroys a given stream at the end. Fails with `rejected`, naming the entry, for
 * everything that the archive rules refuse. A failure of the stream itself is passed on. Faults near the end are noticed only
 * there, so trust nothing before the loop has ended.
 */
export async function* readTarGz(
  source: string | Readable,
  options: ReadOptions,
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry> {
  const unpacking = new TarGzUnpacking(source, options, signal);
  try {
    yield* unpacking.files();
  } finally {
    await unpacking.close();
  }
}

class TarGzUnpacking {
  readonly #options: ReadOptions;
  readonly #signal: AbortSignal;
  readonly #source: string | Readable;
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  readonly #inflated: AsyncGenerator<Uint8Array>;
  readonly #tar: TarEntries;
  readonly #budget: InflateBudget;
  readonly #names = new EntryNames();
  #entries = 0;
  #fileBytes = 0;
  /** Number of input bytes up to the last one that is not zero; gunzip ignores what follows zeros. */
  #lastByte = 0;
  #current = '';
  #inputError: { readonly error: unknown } | undefined;

  constructor(source: string | Readable, options: ReadOptions, signal: AbortSignal) {
    this.#source = source;
    this.#options = options;
    this.#signal = signal;
    this.#budget = new InflateBudget(options.limits);
    this.#inflated = this.#meter(zlibChunks(this.#gunzip, this.#readInput(), CHUNK_BYTES));
    this.#tar = new TarEntries(this.#inflated);
  }

  async *files(): AsyncGenerator<ArchiveEntry> {
    this.#signal.throwIfAborted();
    const abort = (): void => this.#stop();
    this.#signal.addEventListener('abort', abort, { once: true });
    try {
      for (let entry = await this.#tar.next(); entry; entry = await this.#tar.next()) {
        this.#signal.throwIfAborted();
        const file = this.#checkHeader(entry);
        if (file) yield { ...file, body: this.#body(file) };
      }
      this.#signal.throwIfAborted();
      if (this.#lastByte > this.#gunzip.bytesWritten)
        throw rejected('the archive goes on after its end: behind the zeros that fill it up are other bytes');
      this.#names.finish();
      if (this.#names.count === 0) throw rejected('the archive holds no files');
    } catch (error) {
      throw this.#fault(error);
    } finally {
      this.#signal.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#inflated.return(undefined).catch(() => {});
  }

  /** Tells whoever waits for a chunk that there is none. */
  #stop(): void {
    if (typeof this.#source !== 'string') this.#source.destroy();
    this.#gunzip.destroy();
  }

  async *#readInput(): AsyncGenerator<Uint8Array> {
    let read = 0;
    try {
      for await (const chunk of typeof this.#source === 'string' ? localChunks(this.#source) : this.#source) {
        const last = (chunk as Uint8Array).findLastIndex((byte) => byte !== 0);
        if (last !== -1) this.#lastByte = read + last + 1;
        read += (chunk as Uint8Array).length;
        yield chunk;
      }
    } catch (error) {
      this.#inputError = { error };
      throw error;
    }
  }

  /** Limits what lies between the files: an endless run of headers or empty records contains no file. */
  async *#meter(inflated: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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

  #checkHeader(header: TarEntry): Pick<ArchiveEntry, 'path' | 'size'> | undefined {
    this.#entries++;
    this.#budget.countEntry(header.name.length);
    const { name: bytes, size } = header;
    const written = decodeUtf8(bytes);
    if (written === undefined) throw rejected(`entry ${quoteBytes(bytes)} ${foreignNameFault(bytes)}`);
    const name = withSlashes(written);
    const shown = quoteEntry(written);
    const check = checkEntryPath(name);
    if ('fault' in check) throw rejected(`entry ${shown} ${check.fault}`);
    if (header.type === 'link') throw rejected(`entry ${shown} is a link`);
    if (header.type === 'folder') return undefined;
    if (header.type !== 'file') throw rejected(`entry ${shown} is neither a file nor a folder`);
    if (isSparse(header)) throw rejected(`entry ${shown} is a sparse file, which is not supported`);
    if (name.endsWith('/')) throw rejected(`entry ${shown} is a folder but has content`);
    this.#fileBytes += size;
    this.#budget.checkDeclared(name, size, this.#fileBytes);
    const { notes } = this.#options;
    if ('dropped' in check) {
      if (check.dropped === 'junk') notes?.leftOut(name);
      return undefined;
    }
    if (name !== written) notes?.backslashes(written);
    this.#current = check.path;
    this.#names.add(check.path);
    const file = { path: check.path, size };
    this.#options.inspect?.(file);
    return file;
  }

  async *#body(file: Pick<ArchiveEntry, 'path' | 'size'>): AsyncGenerator<Uint8Array> {
    if (this.#current !== file.path) throw defect(`entry ${quoteEntry(file.path)} is read when its turn is over`);
    let bytes = 0;
    try {
      for (let chunk = await this.#tar.content(); chunk; chunk = await this.#tar.content()) {
        this.#signal.throwIfAborted();
        bytes += chunk.length;
        // The meter checks the ratio: what gunzip has read so far says nothing about one entry.
        this.#budget.take(file.path, chunk.length, bytes, Number.POSITIVE_INFINITY);
        yield chunk;
      }
      this.#signal.throwIfAborted();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #fault(error: unknown): unknown {
    const cause = this.#inputError ? this.#inputError.error : error;
    // An error of the stream must not be reported as a damaged archive.
    if (this.#inputError && !this.#signal.aborted && !(cause instanceof Error && 'syscall' in cause)) return cause;
    return archiveFault(cause, 'the archive', this.#signal);
  }
}

/** Uses blocking reads, for worker threads: waiting takes longer, and nothing is inflated meanwhile. */
async function* localChunks(file: string): AsyncGenerator<Uint8Array> {
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer)) yield buffer.subarray(0, count);
  } finally {
    closeSync(fd);
  }
}

/** Current sparse formats store the map in the file's own bytes. */
function isSparse({ pax }: TarEntry): boolean {
  return Object.keys(pax).some((key) => key.startsWith('GNU.sparse.'));
}
