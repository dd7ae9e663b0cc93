// A local file, or a part of one, chunk by chunk through one buffer. A stream allocates a new buffer for every chunk, and those
// of a large file pile up to tens of MiB before the collector runs.

import type { FileHandle } from 'node:fs/promises';

/** Maximum bytes of a chunk. */
export const FILE_CHUNK_BYTES = 128 * 1024;

export interface FileRange {
  readonly from: number;
  readonly length: number;
}

/**
 * The bytes of the range, or up to the end of the file when that comes first; the caller must count. A chunk is valid until the
 * next one is requested. The caller closes the handle.
 */
export async function* fileChunks(
  handle: FileHandle,
  { from, length }: FileRange = { from: 0, length: Number.POSITIVE_INFINITY },
  buffer: Buffer = Buffer.allocUnsafeSlow(FILE_CHUNK_BYTES),
): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, length - done), from + done);
    if (bytesRead === 0) return;
    done += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
