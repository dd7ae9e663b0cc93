// A body through deflate or inflate, chunk by chunk. Memory is freed as soon as a chunk is used up. The collector does not
// notice memory outside its heap, so the buffers of a large body would pile up to tens of MiB.

import type { Transform } from 'node:stream';
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
