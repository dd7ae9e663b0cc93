// The file that an archive is written to: buffered, positioned, removed when the archive fails.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { Failure, transient } from '../failure.ts';

const BUFFER_BYTES = 1024 * 1024;

export class ArchiveOutput {
  readonly #handle: FileHandle;
  readonly #file: string;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #flushedBytes = 0;

  private constructor(handle: FileHandle, file: string) {
    this.#handle = handle;
    this.#file = file;
  }

  /** Creates the file or empties it. */
  static async open(file: string): Promise<ArchiveOutput> {
    return new ArchiveOutput(await open(file, 'w', 0o644), file);
  }

  /** Where the next byte goes. */
  get position(): number {
    return this.#flushedBytes + this.#pendingBytes;
  }

  /** Keeps the bytes until there are enough for one write; the caller must not change them any more. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= BUFFER_BYTES) await this.flush();
  }

  /** Overwrites bytes that were appended before. */
  async patch(position: number, bytes: Uint8Array): Promise<void> {
    await this.flush();
    await this.#write([bytes], position);
  }

  async flush(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#write(pending, this.#flushedBytes);
    for (const bytes of pending) this.#flushedBytes += bytes.length;
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#handle.close();
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#file, { force: true });
  }

  async #write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    const all = pieces.length === 1 ? (pieces[0] ?? new Uint8Array()) : Buffer.concat(pieces);
    let written = 0;
    while (written < all.length) {
      const { bytesWritten } = await this.#handle.write(all, written, all.length - written, position + written);
      written += bytesWritten;
    }
  }
}

/** Runs `write` on a new file: closed when it resolves, gone when it rejects. */
export async function writeArchive<Result>(
  file: string,
  write: (output: ArchiveOutput) => Promise<Result>,
): Promise<Result> {
  let output: ArchiveOutput | undefined;
  try {
    output = await ArchiveOutput.open(file);
    const result = await write(output);
    await output.close();
    return result;
  } catch (error) {
    await output?.discard();
    // A full disk is nobody's bad data.
    if (!(error instanceof Failure) && error instanceof Error && 'syscall' in error)
      throw transient(`writing ${file}: ${error.message}`, { cause: error });
    throw error;
  }
}
