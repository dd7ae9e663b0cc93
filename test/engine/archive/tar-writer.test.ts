import type { Writable } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { pack } from 'tar-stream';
import { padding } from '../../../engine/archive/tar-entries.ts';
import { tarHeader } from '../../../engine/archive/tar-writer.ts';

const modified = new Date('2026-05-04T13:14:15Z');

t.test('a header has the bytes of one that tar-stream writes', async (t) => {
  const folder = fc.stringMatching(/^[a-z]{1,60}$/);
  const path = fc
    .tuple(fc.array(folder, { maxLength: 8 }), fc.stringMatching(/^[a-zä☃]{1,120}$/))
    .map(([folders, name]) => [...folders, name].join('/'));
  const size = fc.oneof(fc.nat(2_000_000), fc.constantFrom(0, 0o77777777777, 0o77777777777 + 1, 2 ** 45 + 12_345));
  await fc.assert(
    fc.asyncProperty(path, size, async (path, size) => {
      const expected = await headerByTarStream(path, size);
      if (!tarHeader({ path, size, modified }).equals(expected)) throw new Error(`header of ${path}`);
    }),
    { numRuns: 300 },
  );
  t.pass();
});

t.test('a pax record counts its own digits', async (t) => {
  for (let length = 80; length < 110; length++) {
    const path = `ü${'x'.repeat(length)}`;
    const expected = await headerByTarStream(path, 1);
    t.ok(tarHeader({ path, size: 1, modified }).equals(expected), `${length}`);
  }
});

t.test('content is padded to whole records', (t) => {
  t.strictSame([0, 1, 511, 512, 513].map(padding), [0, 511, 1, 0, 511]);
  t.end();
});

/** All that comes before the content. */
async function headerByTarStream(name: string, size: number): Promise<Buffer> {
  const tar = pack();
  const entry = tar.entry({ name, size, mode: 0o644, mtime: modified }) as unknown as Writable;
  // An empty one would end at once, and its end is no header.
  if (size > 0) entry.write(Buffer.from('x'));
  else entry.end();
  const chunks: Buffer[] = [];
  for await (const chunk of tar as AsyncIterable<Buffer>) {
    if (chunk.length === 1) break;
    chunks.push(chunk);
    const last = chunks.at(-1);
    if (size === 0 && last?.length === 512 && last[156] === 0x30) break;
  }
  return Buffer.concat(chunks);
}
