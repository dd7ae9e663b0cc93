import fc from 'fast-check';
import t from 'tap';
import { parseRange } from '../../../../http/kernel/answers/conditional.ts';

t.test('a range is the bytes it names, cut at the end', async (t) => {
  t.same(parseRange('bytes=0-3', 10), { kind: 'part', range: { from: 0, to: 3 } });
  t.same(parseRange('bytes=4-', 10), { kind: 'part', range: { from: 4, to: 9 } });
  t.same(parseRange('bytes=-3', 10), { kind: 'part', range: { from: 7, to: 9 } });
  t.same(parseRange('bytes=-30', 10), { kind: 'part', range: { from: 0, to: 9 } });
  t.same(parseRange('bytes=9-99', 10), { kind: 'part', range: { from: 9, to: 9 } });
});

t.test('a range without a byte in the content cannot be satisfied', async (t) => {
  for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0', `bytes=${'9'.repeat(400)}-`])
    t.same(parseRange(header, 10), { kind: 'unsatisfiable' }, header);
  for (const header of ['bytes=0-', 'bytes=-1', 'bytes=0-0']) t.same(parseRange(header, 0), { kind: 'unsatisfiable' });
});

t.test('what is no single range of bytes is ignored', async (t) => {
  const ignored = [undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=3-1', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b'];
  for (const header of [...ignored, 'bytes=0x1-2', 'bytes=1.5-2', 'bytes=+1-2', 'bytes=--1'])
    t.same(parseRange(header, 10), { kind: 'whole' }, String(header));
});

t.test('a part is never outside the content, and is what slicing gives', async (t) => {
  const bound = fc.option(fc.nat({ max: 40 }), { nil: undefined });
  fc.assert(
    fc.property(fc.nat({ max: 20 }), bound, bound, (size, first, last) => {
      const content = Buffer.from(Array.from({ length: size }, (_, i) => i));
      const answer = parseRange(`bytes=${first ?? ''}-${last ?? ''}`, size);
      const wanted =
        first === undefined && last === undefined
          ? content
          : first === undefined
            ? content.subarray(Math.max(0, size - (last ?? 0)))
            : last !== undefined && last < first
              ? content
              : content.subarray(first, last === undefined ? size : last + 1);
      if (answer.kind === 'part') {
        const { from, to } = answer.range;
        return from >= 0 && from <= to && to < size && content.subarray(from, to + 1).equals(wanted);
      }
      return answer.kind === 'whole' ? wanted.equals(content) : wanted.length === 0;
    }),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(fc.string(), fc.nat(), (header, size) =>
      ['whole', 'part', 'unsatisfiable'].includes(parseRange(header, size).kind),
    ),
  );
  t.pass();
});
