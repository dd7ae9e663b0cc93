import fc from 'fast-check';
import t from 'tap';
import { isIn, joined, type Ranges, rangesOf, read, type ScriptCoverage, written } from './covered-ranges.ts';

type Counted = readonly [startOffset: number, endOffset: number, count: number];

const script = (...functions: readonly (readonly Counted[])[]): ScriptCoverage => ({
  url: 'file:///a.ts',
  functions: functions.map((ranges) => ({
    ranges: ranges.map(([startOffset, endOffset, count]) => ({ startOffset, endOffset, count })),
  })),
});

t.test('an inner range says more than the one around it', async (t) => {
  t.strictSame(rangesOf(script([[0, 100, 1]])), [[0, 100]]);
  t.strictSame(rangesOf(script([[0, 100, 1]], [[20, 40, 0]])), [
    [0, 20],
    [40, 100],
  ]);
  const nested = script(
    [[0, 100, 1]],
    [[10, 90, 0]],
    [
      [20, 80, 3],
      [20, 30, 0],
    ],
    [[80, 90, 2]],
  );
  t.strictSame(rangesOf(nested), [
    [0, 10],
    [30, 100],
  ]);
  t.strictSame(rangesOf(script([[0, 100, 0]])), []);
});

t.test('of several processes it is what ran in any', async (t) => {
  const ranges = joined(
    [
      [0, 10],
      [50, 60],
    ],
    [[5, 20]],
    [[20, 30]],
    [],
  );
  t.strictSame(ranges, [
    [0, 30],
    [50, 60],
  ]);
  t.strictSame(
    [0, 29, 30, 49, 50, 60].map((at) => isIn(ranges, at)),
    [true, true, false, false, true, false],
  );
});

t.test('joining agrees with asking each', async () => {
  const ranges = fc.array(fc.tuple(fc.nat(50), fc.integer({ min: 1, max: 20 })), { maxLength: 8 });
  const apart = (pairs: readonly (readonly [number, number])[]): Ranges => pairs.map(([at, size]) => [at, at + size]);
  fc.assert(
    fc.property(ranges, ranges, (a, b) => {
      const both = joined(apart(a), apart(b));
      for (let at = 0; at < 80; at++) if (isIn(both, at) !== (isIn(apart(a), at) || isIn(apart(b), at))) return false;
      return both.every(([start], i) => start > (both[i - 1]?.[1] ?? -1));
    }),
  );
});

t.test('what is written is read back', async (t) => {
  const ranges: Ranges = [
    [0, 30],
    [50, 60],
  ];
  t.strictSame([read(written(ranges)), read(written([]))], [ranges, []]);
});
