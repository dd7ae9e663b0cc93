// The body of a file that goes into an archive. Local files are read with blocking calls, which is several times faster for
// many small files. The size must be the promised one: a body that is longer or shorter is a defect of the caller.

import { closeSync, openSync, readSync } from 'node:fs';
import { defect } from '../runtime/failure.ts';
import type { ArchiveSource, LocalFile } from './archive-entry.ts';
import { quoteEntry } from './entry-path.ts';

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
