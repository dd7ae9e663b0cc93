// Four bytes at a time beside one by one.

import fc from 'fast-check';
import t from 'tap';
import { firstBelow, firstOfTwo, sameBytes, viewOf } from '../../../engine/runtime/same-bytes.ts';

/** Few different bytes, at the edges of what is told apart. */
const bytes = fc
  .uint8Array({ maxLength: 24 })
  .map((all) => all.map((byte) => [9, 31, 32, 38, 60, 127, 128, 255][byte % 8] ?? 0));
const long = bytes.filter(({ length }) => length > 6);
const place = fc.nat({ max: 30 });

t.test('finds what is found byte by byte', async (t) => {
  const property = fc.property(bytes, place, (all, from) => {
    const first = (is: (byte: number) => boolean): number => {
      const at = all.subarray(from).findIndex(is);
      return at < 0 ? Math.max(from, all.length) : from + at;
    };
    const view = viewOf(Buffer.concat([Buffer.from('<&\t'), all]).subarray(3));
    t.equal(
      firstOfTwo(view, from, 60, 38),
      first((byte) => byte === 60 || byte === 38),
    );
    t.equal(
      firstBelow(view, from, 32),
      first((byte) => byte < 32),
    );
    t.equal(
      firstBelow(view, from, 128),
      first((byte) => byte < 128),
    );
  });
  fc.assert(property, { numRuns: 1_000, seed: 20_260_101 });
});

t.test('compares as byte by byte', async (t) => {
  let same = 0;
  const few = fc.nat({ max: 6 });
  const some = fc.nat({ max: 14 });
  const property = fc.property(long, long, few, few, some, fc.boolean(), (one, two, from, at, length, copied) => {
    const other = copied ? Uint8Array.from([...two.subarray(0, at), ...one.subarray(from)]) : two;
    const isIn = from + length <= one.length && at + length <= other.length;
    const parts = [one.subarray(from, from + length), other.subarray(at, at + length)] as const;
    const wanted = isIn && Buffer.compare(...parts) === 0;
    if (wanted && length > 4) same++;
    t.equal(sameBytes(viewOf(one), from, viewOf(other), at, length), wanted);
  });
  fc.assert(property, { numRuns: 2_000, seed: 20_260_101 });
  t.ok(same > 50, `${same} were the same`);
});
