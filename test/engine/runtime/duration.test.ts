import fc from 'fast-check';
import t from 'tap';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../../../engine/runtime/duration.ts';

t.test('reads unit groups in descending order, separated by spaces', async (t) => {
  const texts: Record<string, number> = {
    '30d': 2_592_000_000,
    '1d 12h': 129_600_000,
    '1d 2h 3m 4s 5ms 6us 7ns': 93_784_005.006007,
    '1.5s': 1500,
    '0.25s 1ms': 251,
    '50ms': 50,
    '5us': 0.005,
    '1ns': 0.000001,
    '0s': 0,
    '90m': 5_400_000,
    '1h  30m': 5_400_000,
  };
  for (const [text, ms] of Object.entries(texts)) t.equal(parseDuration(text), ms, text);
});

t.test('refuses everything else', async (t) => {
  const texts = [
    '',
    ' ',
    's',
    '5',
    '1',
    '5 s',
    ' 5s',
    '5s ',
    '1h1h',
    '1h30m',
    '30m 1h',
    '1h 1h',
    '1.5h',
    '1.s',
    '.5s',
    '-1s',
    '+1s',
    '1S',
    '1w',
    '1y',
    '1min',
    '1s,2ms',
    '1s\t2ms',
    '1s\n',
    '1e3s',
    '٣s',
    '9007199254740993ms',
    '999999999999999d',
  ];
  for (const text of texts) t.equal(parseDuration(text), undefined, JSON.stringify(text));
});

t.test('formats to the shortest text', async (t) => {
  t.equal(formatDuration(0), '0s');
  t.equal(formatDuration(129_600_000), '1d 12h');
  t.equal(formatDuration(1500), '1s 500ms');
  t.equal(formatDuration(0.0055), '5us 500ns');
});

t.test('what is formatted is read back to the same milliseconds', async () => {
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (ms) => parseDuration(formatDuration(ms)) === ms),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.nat({ max: 999_999_999 }), (ns) => parseDuration(formatDuration(ns / 1e6)) === ns / 1e6),
    { numRuns: 2000 },
  );
});

t.test('any subset of the groups in order adds up', async () => {
  const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
  const groups = fc
    .subarray(Object.keys(units) as (keyof typeof units)[], { minLength: 1 })
    .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), fc.nat({ max: 9999 })))));
  fc.assert(
    fc.property(groups, (parts) => {
      const total = parts.reduce((sum, [unit, count]) => sum + count * units[unit], 0);
      return parseDuration(parts.map(([unit, count]) => `${count}${unit}`).join(' ')) === total;
    }),
  );
});

t.test('the pattern for editors accepts what the parser accepts', async () => {
  const pattern = new RegExp(DURATION_PATTERN);
  const near = fc.string({ unit: fc.constantFrom(...'0159dhmsun. '), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => pattern.test(text) === (parseDuration(text) !== undefined)),
    { numRuns: 2000 },
  );
});
