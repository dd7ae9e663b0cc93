// The file that an archive is written to: buffered, positioned, removed when the archive fails. One buffer serves the
// whole archive, so what is appended leaves nothing for the collector, which is slow to see memory outside its heap.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { Failure, transient } from '../failure.ts';

const BUFFER_BYTES = 1024 * 1024;

export class ArchiveOutput {
  readonly #handle: FileHandle;
  readonly #file: string;
  readonly #pending = Buffer.allocUnsafeSlow(BUFFER_BYTES);
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

  /** Copies the bytes until there are enough for one write; they are the caller's again when it resolves. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#pendingBytes === 0 && rest.length >= BUFFER_BYTES) {
        await this.#write(rest, this.#flushedBytes);
        this.#flushedBytes += rest.length;
        return;
      }
      const part = rest.subarray(0, BUFFER_BYTES - this.#pendingBytes);
      this.#pending.set(part, this.#pendingBytes);
      this.#pendingBytes += part.length;
      rest = rest.subarray(part.length);
      if (this.#pendingBytes === BUFFER_BYTES) await this.flush();
    }
  }

  /** Overwrites bytes that were appended before. */
  async patch(position: number, bytes: Uint8Array): Promise<void> {
    await this.flush();
    await this.#write(bytes, position);
  }

  async flush(): Promise<void> {
    await this.#write(this.#pending.subarray(0, this.#pendingBytes), this.#flushedBytes);
    this.#flushedBytes += this.#pendingBytes;
    this.#pendingBytes = 0;
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#handle.close();
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#file, { force: true });
  }

  async #write(bytes: Uint8Array, position: number): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written, position + written);
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
