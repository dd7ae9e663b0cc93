// The body of a file that goes into an archive, read into the writer's memory. Local files use blocking reads, which is several
// times faster for many small files; everything else is read chunk by chunk. The size must match the promised one.

import { closeSync, openSync, readSync } from 'node:fs';
import { defect } from '../runtime/failure.ts';
import type { ArchiveSource, LocalFile } from './archive-entry.ts';
import { quoteEntry } from './entry-path.ts';

/** Reads the next bytes into `target`; returns their number, 0 at the end. */
interface Bytes {
  read(target: Uint8Array): number | Promise<number>;
  close(): unknown;
}

export class SourceBody implements AsyncDisposable {
  readonly #source: ArchiveSource;
  readonly #signal: AbortSignal;
  readonly #bytes: Bytes;
  #ended = false;
  /** Bytes read so far. */
  done = 0;

  constructor(source: ArchiveSource, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    const { body } = source;
    this.#bytes = 'file' in body ? new FileBytes(body.file) : new ChunkBytes(body);
  }

  /** Reads until `target` is full or the body ends; a body longer or shorter than its size is a defect. */
  async fill(target: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < target.length && !this.#ended) {
      const count = this.#read(target.subarray(filled));
      // Awaiting a value that is already there costs more than a small file.
      filled += typeof count === 'number' ? count : await count;
    }
    return filled;
  }

  /** Verifies that the body has ended. */
  async finish(): Promise<void> {
    const beyond = new Uint8Array(1);
    while (!this.#ended) await this.#read(beyond);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bytes.close();
  }

  #read(target: Uint8Array): number | Promise<number> {
    this.#signal.throwIfAborted();
    const count = this.#bytes.read(target);
    return typeof count === 'number' ? this.#count(count) : count.then((bytes) => this.#count(bytes));
  }

  #count(bytes: number): number {
    this.done += bytes;
    if (this.done > this.#source.size) throw tooMany(this.#source);
    if (bytes > 0) return bytes;
    if (this.done !== this.#source.size) throw tooFew(this.#source, this.done);
    this.#ended = true;
    return 0;
  }
}

/**
 * Reads a whole local file at once without waiting: with thousands of small files, waiting takes most of the time. `target` has
 * one byte more than the file's size, which shows whether the file is longer.
 */
export function readSmallFile(source: ArchiveSource, { file }: LocalFile, target: Uint8Array): void {
  const fd = openSync(file, 'r');
  try {
    const count = readSync(fd, target);
    if (count > source.size) throw tooMany(source);
    if (count < source.size) throw tooFew(source, count);
  } finally {
    closeSync(fd);
  }
}

type Announced = Pick<ArchiveSource, 'path' | 'size'>;

export const tooMany = ({ path, size }: Announced): Error =>
  defect(`entry ${quoteEntry(path)} has more than the ${size} bytes announced`);
export const tooFew = ({ path, size }: Announced, bytes: number): Error =>
  defect(`entry ${quoteEntry(path)} has ${bytes} bytes, not the ${size} announced`);

class FileBytes implements Bytes {
  readonly #fd: number;
  #ended = false;

  constructor(file: string) {
    this.#fd = openSync(file, 'r');
  }

  read(target: Uint8Array): number {
    if (this.#ended) return 0;
    const count = readSync(this.#fd, target);
    // A file returns fewer bytes than requested only at its end.
    this.#ended = count < target.length;
    return count;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

class ChunkBytes implements Bytes {
  readonly #chunks: AsyncIterator<Uint8Array> | undefined;
  /** What is left of the current chunk, which is valid until the next one is requested. */
  #rest: Uint8Array;

  constructor(body: Uint8Array | AsyncIterable<Uint8Array>) {
    this.#chunks = body instanceof Uint8Array ? undefined : body[Symbol.asyncIterator]();
    this.#rest = body instanceof Uint8Array ? body : new Uint8Array();
  }

  async read(target: Uint8Array): Promise<number> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks?.next();
      if (!next || next.done) return 0;
      this.#rest = next.value;
    }
    const part = this.#rest.subarray(0, target.length);
    target.set(part);
    this.#rest = this.#rest.subarray(part.length);
    return part.length;
  }

  async close(): Promise<void> {
    await this.#chunks?.return?.();
  }
}
