// A body through deflate or inflate, chunk by chunk. Memory is freed as soon as a chunk is used up. The collector does not
// notice memory outside its heap, so the buffers of a large body would pile up to tens of MiB.

import type { Transform } from 'node:stream';
import { Failure, rejected, transient } from '../runtime/failure.ts';
import { giveBackWithLast } from '../runtime/give-back.ts';

/** The `chunkSize` for node:zlib streams. Must differ from the size of a pool that Node cuts small buffers from. */
export const ZLIB_CHUNK_BYTES = 128 * 1024;

/**
 * Yields the output of `zlib`, which must be new. A chunk of the body is used up when the next one is requested. Output chunks
 * have the `chunkSize` of `zlib` and are valid until the next one is requested. A failure of the body is passed on unchanged;
 * leaving early ends both.
 */
export async function* zlibChunks(
  zlib: Transform,
  body: AsyncIterable<Uint8Array>,
  chunkSize = ZLIB_CHUNK_BYTES,
): AsyncGenerator<Uint8Array> {
  const fed = feed(zlib, body);
  try {
    for await (const chunk of zlib as AsyncIterable<Uint8Array>) {
      yield chunk;
      giveBackWithLast(chunk, chunkSize);
    }
  } finally {
    zlib.destroy();
    await fed;
  }
}

/** Never rejects: an error destroys `zlib`, and its reader gets the error. */
async function feed(zlib: Transform, body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const chunk of body) {
      await taken(zlib, chunk);
      if (zlib.destroyed) return;
    }
    zlib.end();
  } catch (error) {
    zlib.destroy(error as Error);
  }
}

/** Resolves when the chunk was consumed completely and its output has room, or when `zlib` was destroyed. */
function taken(zlib: Transform, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      zlib.off('close', done);
      resolve();
    };
    zlib.on('close', done);
    zlib.write(chunk, done);
  });
}

// Who caused a failure: errors of the parsers and zlib mean a damaged archive, errors of the file system are ours.

/**
 * The failure for anything thrown while reading an archive. `what` names the archive or the entry. An aborted signal's reason
 * takes precedence; a programming error is returned unchanged, which makes it a defect.
 */
export function archiveFault(error: unknown, what: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof Failure || !(error instanceof Error)) return error;
  if ('syscall' in error) return transient(`${what}: ${error.message}`, { cause: error });
  const code = 'code' in error ? String(error.code) : '';
  // yauzl and tar-entries.ts throw plain errors; zlib's carry a Z_ code.
  if (code.startsWith('Z_') || (code === '' && error.constructor === Error))
    return rejected(`${what} is damaged: ${error.message}`, { cause: error });
  return error;
}
