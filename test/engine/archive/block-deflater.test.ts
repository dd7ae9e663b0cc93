import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { BLOCK_BYTES, BLOCKS, BlockDeflater } from '../../../engine/archive/block-deflater.ts';

t.test('the blocks of each stream, one after the other, inflate to what went in', async (t) => {
  const blocks = fc.integer({ min: -2, max: 2 }).chain((off) => fc.nat(3).map((n) => n * BLOCK_BYTES + off));
  const size = fc.oneof(
    fc.nat(40_000),
    blocks.filter((bytes) => bytes >= 0),
  );
  const stream = fc.record({ size, random: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(stream, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(1, 6),
      async (streams, level) => {
        const contents = streams.map(({ size, random }) => (random ? randomBytes(size) : text(size)));
        const packed = await deflated(contents, level);
        for (const [i, content] of contents.entries()) {
          // Anything after the stream's end would be an error, as would be an end that is missing.
          const inflated = inflateRawSync(packed[i] ?? '', { finishFlush: constants.Z_FINISH });
          if (!inflated.equals(content)) throw new Error(`stream ${i} of ${content.length} bytes`);
        }
      },
    ),
    { numRuns: 30 },
  );
  t.pass();
});

t.test('a stream of blocks is hardly larger than one made in one go', async (t) => {
  const content = prose(4 * BLOCK_BYTES);
  const [blocks] = await deflated([content], 6);
  const inOneGo = deflateRawSync(content, { level: 6, memLevel: 9 });
  t.ok(blocks && blocks.length < 1.02 * inOneGo.length, `${blocks?.length} for ${inOneGo.length} bytes`);
});

t.test('there are so many blocks and no more: the next one waits for the first', async (t) => {
  await using deflater = new BlockDeflater(6);
  const taken: number[] = [];
  const seen = new Set<Buffer>();
  for (let n = 0; n < 3 * BLOCKS; n++) {
    const block = await deflater.block();
    seen.add(block);
    deflater.start(block, 20_000 + n, { first: true, last: true }, async (_, { length }) => void taken.push(length));
    t.ok(n + 1 - taken.length <= BLOCKS, 'no more on their way');
  }
  await deflater.drain();
  t.equal(seen.size, BLOCKS);
  t.strictSame(
    taken,
    Array.from({ length: 3 * BLOCKS }, (_, n) => 20_000 + n),
    'in order',
  );
});

t.test('a failure to take is told to who waits next', async (t) => {
  await using deflater = new BlockDeflater(6);
  deflater.start(await deflater.block(), 20_000, { first: true, last: true }, async () => {
    throw new Error('disk full');
  });
  await t.rejects(deflater.drain(), new Error('disk full'));
});

async function deflated(contents: readonly Buffer[], level: number): Promise<readonly Buffer[]> {
  await using deflater = new BlockDeflater(level);
  const packed: Buffer[][] = contents.map(() => []);
  for (const [i, content] of contents.entries()) {
    let at = 0;
    do {
      const block = await deflater.block();
      const length = content.copy(block, 0, at);
      const stream = { first: at === 0, last: at + length === content.length };
      at += length;
      deflater.start(block, length, stream, async (bytes) => void packed[i]?.push(Buffer.from(bytes)));
    } while (at < content.length);
  }
  await deflater.drain();
  return packed.map((chunks) => Buffer.concat(chunks));
}

/** Repeats itself at distances that deflate looks back, over the ends of blocks too. */
function text(size: number): Buffer {
  const content = Buffer.alloc(size);
  for (let at = 0, n = 0; at < size; n++) at += content.write(`${((n * 7919) % 997).toString(36)} `, at) || 1;
  return content;
}

/** Words in no order, as most texts are to deflate: it looks back a little, and not for the whole. */
function prose(size: number): Buffer {
  const content = Buffer.alloc(size);
  for (let at = 0, state = 1; at < size; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    at += content.write(`${((state >>> 8) % 4_999) ** 2} `, at) || 1;
  }
  return content;
}
