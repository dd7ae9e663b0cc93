import fc from 'fast-check';
import t from 'tap';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../../../engine/runtime/duration.ts';

t.test('reads numbers with units in descending order', async (t) => {
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
    '1h30m': 5_400_000,
    '1d2h3m4s5ms6us7ns': 93_784_005.006007,
    '1.5h': 5_400_000,
    '0.5d 30m': 45_000_000,
    '5 minutes': 300_000,
    '1 minute': 60_000,
    '1 hour 30 minutes': 5_400_000,
    '2 hrs 5 mins 3 secs': 7_503_000,
    '1w': 604_800_000,
    '2 weeks': 1_209_600_000,
    '20 milliseconds': 20,
    '5µs': 0.005,
  };
  for (const [text, ms] of Object.entries(texts)) t.equal(parseDuration(text), ms, text);
});

t.test('reads durations of ISO 8601', async (t) => {
  const texts: Record<string, number> = {
    PT1H30M: 5_400_000,
    PT90S: 90_000,
    'PT0.5S': 500,
    P1D: 86_400_000,
    P1DT12H: 129_600_000,
    P2W: 1_209_600_000,
    PT5M: 300_000,
  };
  for (const [text, ms] of Object.entries(texts)) t.equal(parseDuration(text), ms, text);
  for (const text of ['P', 'PT', 'P1DT', 'P1H', 'PT1D', 'P1M', 'P1Y', 'pt1h', 'PT1H 30M', '-PT1H', 'PT1M1H', 'P1D 1h'])
    t.equal(parseDuration(text), undefined, text);
});

t.test('refuses everything else', async (t) => {
  const texts = [
    '',
    ' ',
    's',
    '5',
    '1',
    ' 5s',
    '5s ',
    '1h1h',
    '30m 1h',
    '30m1h',
    '1h and 5m',
    '1h, 5m',
    '1 month',
    '1H',
    '5 Minutes',
    '1 h30',
    '1.5ns ',
    '1hminutes',
    '1h 1h',
    '1.s',
    '.5s',
    '-1s',
    '+1s',
    '1S',
    '1y',
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
  const gaps = fc.constantFrom('', ' ', '  ');
  const units = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
  const groups = fc
    .subarray(Object.keys(units) as (keyof typeof units)[], { minLength: 1 })
    .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), fc.nat({ max: 9999 })))));
  fc.assert(
    fc.property(groups, gaps, gaps, (parts, inner, outer) => {
      const total = parts.reduce((sum, [unit, count]) => sum + count * units[unit], 0);
      return parseDuration(parts.map(([unit, count]) => `${count}${inner}${unit}`).join(outer)) === total;
    }),
  );
});

t.test('the pattern for editors accepts what the parser accepts', async () => {
  const pattern = new RegExp(DURATION_PATTERN);
  const near = fc.string({ unit: fc.constantFrom(...'015dhmsunPTHMS. '), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => pattern.test(text) === (parseDuration(text) !== undefined)),
    { numRuns: 2000 },
  );
});
