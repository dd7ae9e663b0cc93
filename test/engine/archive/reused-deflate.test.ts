import { randomBytes } from 'node:crypto';
import { constants, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { packedBytes, ReusedDeflate } from '../../../engine/archive/reused-deflate.ts';

const block = fc.record({ size: fc.oneof(fc.nat(300), fc.nat(700_000)), random: fc.boolean(), last: fc.boolean() });

t.test('each block inflates alone, whatever came before it, and with those before it', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(block, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(1, 6, 9),
      async (blocks, level) => {
        using stream = new ReusedDeflate(level);
        const body: { raw: Buffer; packed: Buffer }[] = [];
        for (const { size, random, last } of blocks) {
          const raw = random ? randomBytes(size) : Buffer.alloc(size, `${size} ways to say it, `);
          const packed = Buffer.from(await stream.deflate(raw, Buffer.alloc(packedBytes(size)), last));
          check(last ? packed : Buffer.concat([packed, await end(stream)]), raw);
          body.push({ raw, packed });
          if (!last) continue;
          check(Buffer.concat(body.map((one) => one.packed)), Buffer.concat(body.map((one) => one.raw)));
          body.length = 0;
        }
      },
    ),
    { numRuns: 40 },
  );
  t.pass();
});

t.test('what does not shrink has room, with its end', async (t) => {
  using stream = new ReusedDeflate(6);
  const raw = randomBytes(2 ** 20);
  const target = Buffer.alloc(packedBytes(raw.length));
  const packed = await stream.deflate(raw, target, true);
  t.ok(packed.length > raw.length);
  t.ok(packed.buffer === target.buffer, 'it lies in the memory given');
});

t.test('a body without bytes has an end only', async (t) => {
  using stream = new ReusedDeflate(6);
  t.equal((await end(stream)).length, 2);
});

t.test('a stream that is closed says so', async (t) => {
  const stream = new ReusedDeflate(6);
  stream[Symbol.dispose]();
  await t.rejects(stream.deflate(Buffer.alloc(9), Buffer.alloc(packedBytes(9)), true), {
    code: 'ERR_STREAM_DESTROYED',
  });
});

/** What ends a body after its last block. */
async function end(stream: ReusedDeflate): Promise<Buffer> {
  return stream.deflate(Buffer.alloc(0), Buffer.alloc(packedBytes(0)), true);
}

/** Anything after the end would be an error, as would be an end that is missing. */
function check(packed: Buffer, raw: Buffer): void {
  if (!inflateRawSync(packed, { finishFlush: constants.Z_FINISH }).equals(raw)) throw new Error(`${raw.length} bytes`);
}
