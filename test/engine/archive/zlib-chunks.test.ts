import { randomBytes } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { createDeflateRaw, createInflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { ZLIB_CHUNK_BYTES, zlibChunks } from '../../../engine/archive/zlib-chunks.ts';

const chunkSize = ZLIB_CHUNK_BYTES;
const MIB = 1024 * 1024;

t.test('what went in comes out, whatever the pieces', async (t) => {
  const piece = fc.tuple(fc.nat(300_000), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
      const whole = Buffer.concat(
        pieces.map(([size, random]) => (random ? randomBytes(size) : Buffer.alloc(size, 'ab'))),
      );
      const sizes = pieces.map(([size]) => size);
      const deflated = await collected(zlibChunks(createDeflateRaw({ chunkSize }), inOneBuffer(whole, sizes)));
      if (!inflateRawSync(deflated).equals(whole)) throw new Error('deflated wrongly');
      const packed = deflateRawSync(whole);
      const inflated = await collected(
        zlibChunks(createInflateRaw({ chunkSize }), inOneBuffer(packed, [1, 2, 100_000])),
      );
      if (!inflated.equals(whole)) throw new Error('inflated wrongly');
    }),
    { numRuns: 50 },
  );
  t.pass();
});

t.test('memory is given back as soon as a chunk is done with', async (t) => {
  const packed = deflateRawSync(Buffer.alloc(16 * MIB, 'abc'));
  const buffers = new Set<ArrayBufferLike>();
  let held = 0;
  for await (const { buffer } of zlibChunks(createInflateRaw({ chunkSize }), inOneBuffer(packed, []))) {
    buffers.add(buffer);
    held = Math.max(
      held,
      [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0),
    );
  }
  t.ok(buffers.size >= 16 * (MIB / chunkSize), `${buffers.size} buffers`);
  t.ok(held <= 4 * chunkSize, `${held} bytes at once`);
});

t.test('the failure of a body is passed on', async (t) => {
  const failure = new Error('the disk is gone');
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield randomBytes(MIB);
    throw failure;
  }
  await t.rejects(collected(zlibChunks(createDeflateRaw({ chunkSize }), failing())), failure);
});

t.test('what cannot be inflated is a failure, and ends the body', async (t) => {
  const body = new Watched();
  await t.rejects(collected(zlibChunks(createInflateRaw({ chunkSize }), body.endless(Buffer.alloc(MIB, 0xff)))), {
    code: 'Z_DATA_ERROR',
  });
  t.ok(body.ended);
});

t.test('leaving early ends the body, though it waits for room', async (t) => {
  const body = new Watched();
  const deflate = createDeflateRaw({ chunkSize });
  for await (const _ of zlibChunks(deflate, body.endless(randomBytes(4 * MIB)))) break;
  t.ok(body.ended);
  t.ok(deflate.destroyed);
});

t.test('a deflater that is destroyed from outside ends the body', async (t) => {
  const body = new Watched();
  const deflate = createDeflateRaw({ chunkSize });
  const stop = new AbortController();
  using _ = addAbortListener(stop.signal, () => deflate.destroy(new Error('enough')));
  await t.rejects(
    async () => {
      for await (const _ of zlibChunks(deflate, body.endless(randomBytes(MIB)))) stop.abort();
    },
    { message: 'enough' },
  );
  t.ok(body.ended);
});

class Watched {
  ended = false;

  async *endless(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield chunk;
    } finally {
      this.ended = true;
    }
  }
}

/** Pieces of the sizes, then the rest, all through one buffer that is overwritten with the next. */
async function* inOneBuffer(whole: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.alloc(whole.length);
  let from = 0;
  for (const size of [...sizes, whole.length]) {
    const piece = whole.subarray(from, from + size);
    from += piece.length;
    buffer.fill(0).set(piece);
    yield buffer.subarray(0, piece.length);
  }
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks, (chunk) => Buffer.from(chunk)));
}
