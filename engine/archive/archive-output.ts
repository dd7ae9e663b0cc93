// The file that an archive is written to: buffered, and removed when the archive fails. Two buffers serve the whole archive.
// One is filled while the other is being written, and sources read their bytes straight into the one being filled. Appending
// creates no garbage: the collector is slow to notice memory outside its heap.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { Failure, transient } from '../runtime/failure.ts';

/** Bytes per write. */
export const OUTPUT_BYTES = 1024 * 1024;
/** Size of the first buffer. Most archives are small, and the collector counts memory that was never touched, too. */
const FIRST_BYTES = 64 * 1024;

interface Patch {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export class ArchiveOutput {
  readonly #handle: FileHandle;
  readonly #file: string;
  #filling: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #filled = 0;
  /** Being written while `#writing` is set; otherwise free. */
  #other: Buffer | undefined;
  #writing: Promise<void> | undefined;
  /** Position in the file where the buffer being filled begins. */
  #begin = 0;
  /**
   * Patches of bytes that are no longer in memory. They wait for the buffer that is being written, because two writes to one
   * file exclude each other: a caller that waited for a patch would wait for that buffer, too, and fill none meanwhile.
   */
  #patches: Patch[] = [];

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
    return this.#begin + this.#filled;
  }

  /** Free space of at least `atLeast` bytes for the next write; valid until the next call. */
  async room(atLeast = 1): Promise<Buffer> {
    if (this.#filling.length - this.#filled < atLeast) await this.#hand();
    return this.#filling.subarray(this.#filled);
  }

  /** As {@link room}, but undefined when it would have to wait. */
  roomNow(atLeast: number): Buffer | undefined {
    return this.#filling.length - this.#filled < atLeast ? undefined : this.#filling.subarray(this.#filled);
  }

  /** Marks the first `bytes` bytes of the room as filled. */
  advance(bytes: number): void {
    this.#filled += bytes;
  }

  /** Copies the bytes; the caller may reuse them once this resolves. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      const room = await this.room();
      const part = rest.subarray(0, room.length);
      room.set(part);
      this.advance(part.length);
      rest = rest.subarray(part.length);
    }
  }

  /** Overwrites bytes that were appended before. Takes ownership of `bytes`. */
  patch(position: number, bytes: Uint8Array): void {
    const gone = Math.min(Math.max(this.#begin - position, 0), bytes.length);
    if (gone > 0) this.#patches.push({ position, bytes: bytes.subarray(0, gone) });
    if (gone < bytes.length) this.#filling.set(bytes.subarray(gone), position + gone - this.#begin);
  }

  async close(): Promise<void> {
    await this.#settled();
    await writeAll(this.#handle, this.#filling.subarray(0, this.#filled), this.#begin);
    await this.#handle.close();
  }

  async discard(): Promise<void> {
    await this.#writing?.catch(() => {});
    await this.#handle.close().catch(() => {});
    await rm(this.#file, { force: true });
  }

  /** Starts writing the filled buffer once the previous write has finished. */
  async #hand(): Promise<void> {
    await this.#settled();
    const full = this.#filling;
    this.#writing = writeAll(this.#handle, full.subarray(0, this.#filled), this.#begin);
    // Whoever waits for the write next gets the error, which may be much later.
    this.#writing.catch(() => {});
    this.#begin += this.#filled;
    this.#filled = 0;
    this.#filling = this.#other ?? Buffer.allocUnsafeSlow(OUTPUT_BYTES);
    this.#other = full.length < OUTPUT_BYTES ? undefined : full;
  }

  async #settled(): Promise<void> {
    await this.#writing;
    this.#writing = undefined;
    for (const { position, bytes } of this.#patches.splice(0)) await writeAll(this.#handle, bytes, position);
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
): Promise<Result> {
  let output: ArchiveOutput | undefined;
  try {
    output = await ArchiveOutput.open(file);
    const result = await write(output);
    await output.close();
    return result;
  } catch (error) {
    await output?.discard();
    throw outputFailure(file, error);
  }
}

/** Turns an error from writing an archive into a failure for callers: a full disk is not caused by bad data. */
export function outputFailure(file: string, error: unknown): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  return transient(`writing ${file}: ${error.message}`, { cause: error });
}
