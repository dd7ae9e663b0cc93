// A body through deflate or inflate, chunk by chunk. Memory is given back as soon as a chunk is done with: left to the
// collector, which does not feel what lies outside its heap, the buffers of a large body pile up by tens of MiB.

import type { Transform } from 'node:stream';
import { giveBackWithLast } from '../give-back.ts';

/** For `chunkSize` of what node:zlib creates. Not the size of a pool that Node cuts small buffers from. */
export const ZLIB_CHUNK_BYTES = 128 * 1024;

/**
 * What comes out of `zlib`, which must be new. It is done with a chunk of the body when it asks for the next one, and its
 * own chunks, of the size given to it as `chunkSize`, hold until the next one is asked for. A failure of the body is passed
 * on as it is; leaving early ends both.
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

/** Never rejects: what goes wrong destroys `zlib`, whose reader is told. */
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

/** Resolves when the chunk has gone in whole and what came of it has room, or when `zlib` was destroyed. */
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
