// The file that an archive is written to: buffered, positioned, removed when the archive fails. Two buffers serve the
// whole archive: one is filled while the other is being written, and whoever has bytes to read reads them right into the
// one being filled. What is appended leaves nothing for the collector, which is slow to see memory outside its heap.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { Failure, transient } from '../failure.ts';

/** Of one write. */
export const OUTPUT_BYTES = 1024 * 1024;
/** Of the first: most archives are small, and the collector counts what nobody touches, too. */
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
  /** Being written, while `#writing` is there; else free. */
  #other: Buffer | undefined;
  #writing: Promise<void> | undefined;
  /** Where in the file what is being filled begins. */
  #begin = 0;
  /**
   * Of what is no longer in memory. They wait for the buffer that is being written, since two writes to one file exclude
   * each other: whoever waited for a patch would wait for that buffer, too, and fill none meanwhile.
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

  /** Free space, of at least so many bytes, for what comes next; it holds until the next call. */
  async room(atLeast = 1): Promise<Buffer> {
    if (this.#filling.length - this.#filled < atLeast) await this.#hand();
    return this.#filling.subarray(this.#filled);
  }

  /** The same where there is enough without waiting. */
  roomNow(atLeast: number): Buffer | undefined {
    return this.#filling.length - this.#filled < atLeast ? undefined : this.#filling.subarray(this.#filled);
  }

  /** So many bytes of the room are filled. */
  advance(bytes: number): void {
    this.#filled += bytes;
  }

  /** Copies the bytes; they are the caller's again when it resolves. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      const room = await this.room();
      const part = rest.subarray(0, room.length);
      room.set(part);
      this.advance(part.length);
      rest = rest.subarray(part.length);
    }
  }

  /** Overwrites bytes that were appended before; they are the output's from now on. */
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

  /** Begins to write what is filled, once what was before it is written. */
  async #hand(): Promise<void> {
    await this.#settled();
    const full = this.#filling;
    this.#writing = writeAll(this.#handle, full.subarray(0, this.#filled), this.#begin);
    // Told to whoever waits for it next, which may be long after.
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
    throw outputFailure(file, error);
  }
}

/** What a failure while an archive is written is to its callers: a full disk is nobody's bad data. */
export function outputFailure(file: string, error: unknown): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  return transient(`writing ${file}: ${error.message}`, { cause: error });
}
