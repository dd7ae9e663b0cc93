// The file that an archive is written to: buffered, and removed when the archive fails.

import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { EarlySync } from '../runtime/early-sync.ts';
import { defect, Failure, transient } from '../runtime/failure.ts';
import type { ArchiveSource, LocalFile } from './archive-entry.ts';
import { quoteEntry } from './entry-path.ts';

/** Bytes per write. */
export const OUTPUT_BYTES = 256 * 1024;

export interface OutputOptions {
  /** The archive will be synced as a whole, when it is put into a store: much of it is by then. */
  readonly syncEarly?: true | undefined;
  /** Compute the SHA-256 of each file and of the archive. */
  readonly digests?: true | undefined;
}

export class ArchiveOutput {
  readonly #handle: FileHandle;
  readonly #file: string;
  readonly #buffer = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
  readonly #early: EarlySync | undefined;
  /** Of everything appended; undefined = not asked for, or bytes were overwritten. */
  #hash: Hash | undefined;
  #filled = 0;
  /** Position in the file where the buffer begins. */
  #begin = 0;

  private constructor(handle: FileHandle, file: string, { syncEarly, digests }: OutputOptions) {
    this.#handle = handle;
    this.#file = file;
    this.#early = syncEarly ? new EarlySync(handle) : undefined;
    this.#hash = digests ? createHash('sha256') : undefined;
  }

  /** Creates the file or empties it. */
  static async open(file: string, options: OutputOptions): Promise<ArchiveOutput> {
    return new ArchiveOutput(await open(file, 'w', 0o644), file, options);
  }

  /** Where the next byte goes. */
  get position(): number {
    return this.#begin + this.#filled;
  }

  /** Copies the bytes; the caller may reuse them once this resolves. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#hash?.update(bytes);
    for (let rest = bytes; rest.length > 0; ) {
      const part = rest.subarray(0, OUTPUT_BYTES - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
      if (this.#filled === OUTPUT_BYTES) await this.#flush();
    }
  }

  /** Overwrites bytes that were appended before. */
  async patch(position: number, bytes: Uint8Array): Promise<void> {
    await this.#flush();
    await writeAll(this.#handle, bytes, position);
    this.#hash = undefined;
  }

  /** SHA-256 of the file in hex, once all is appended. Reads the file, which has just been written, if it was patched. */
  async digest(signal: AbortSignal): Promise<string> {
    await this.#flush();
    return this.#hash?.copy().digest('hex') ?? sha256OfFile(this.#file, signal);
  }

  async close(): Promise<void> {
    await this.#flush();
    await this.#early?.end();
    await this.#handle.close();
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#file, { force: true }).catch(() => {});
  }

  async #flush(): Promise<void> {
    await writeAll(this.#handle, this.#buffer.subarray(0, this.#filled), this.#begin);
    this.#early?.wrote(this.#filled);
    this.#begin += this.#filled;
    this.#filled = 0;
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

/** Runs `write` on a new file. The file is closed when this resolves and removed when it rejects. */
export async function writeArchive<Result>(
  file: string,
  write: (output: ArchiveOutput) => Promise<Result>,
  options: OutputOptions = {},
): Promise<Result> {
  let output: ArchiveOutput | undefined;
  try {
    output = await ArchiveOutput.open(file, options);
    const result = await write(output);
    await output.close();
    return result;
  } catch (error) {
    await output?.discard();
    throw outputFailure(file, error);
  }
}

/** Turns an error from writing an archive into a failure for callers: a full disk is not caused by bad data. */
function outputFailure(file: string, error: unknown): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  return transient(`writing ${file}: ${error.message}`, { cause: error });
}

/** In hex. Reads with blocking calls, so for worker threads only. */
export function sha256OfFile(file: string, signal: AbortSignal): string {
  const hash = createHash('sha256');
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.allocUnsafe(OUTPUT_BYTES);
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer)) {
      signal.throwIfAborted();
      hash.update(buffer.subarray(0, count));
    }
  } finally {
    closeSync(fd);
  }
  return hash.digest('hex');
}

// The body of a file that goes into an archive. Local files are read with blocking calls, which is several times faster for
// many small files. The size must be the promised one: a body that is longer or shorter is a defect of the caller.

const CHUNK_BYTES = 128 * 1024;

/** A chunk is valid until the next one is requested. */
export async function* sourceChunks(source: ArchiveSource, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunksOf(source)) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > source.size)
      throw defect(`entry ${quoteEntry(source.path)} has more than the ${source.size} bytes announced`);
    yield chunk;
  }
  if (bytes !== source.size)
    throw defect(`entry ${quoteEntry(source.path)} has ${bytes} bytes, not the ${source.size} announced`);
}

export async function wholeSource(source: ArchiveSource, signal: AbortSignal): Promise<Uint8Array> {
  const whole = Buffer.allocUnsafe(source.size);
  let at = 0;
  for await (const chunk of sourceChunks(source, signal)) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function chunksOf({ body, size }: ArchiveSource): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (body instanceof Uint8Array) return [body];
  return 'file' in body ? fileChunks(body, size) : body;
}

function* fileChunks({ file }: LocalFile, size: number): Generator<Uint8Array> {
  const fd = openSync(file, 'r');
  try {
    // One byte more than announced shows whether the file is longer.
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size + 1));
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer)) yield buffer.subarray(0, count);
  } finally {
    closeSync(fd);
  }
}
