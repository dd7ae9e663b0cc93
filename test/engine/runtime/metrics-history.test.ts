import t from 'tap';
import { MetricsHistory } from '../../../engine/runtime/metrics-history.ts';

const of = (values: Readonly<Record<string, number>>): ReadonlyMap<string, number> => new Map(Object.entries(values));

t.test('values are averaged by step, and steps without a sample are null', (t) => {
  const history = new MetricsHistory();
  for (const [at, value] of [
    [1_000, 2],
    [2_000, 4],
    [7_000, 10],
    [9_999, 20],
    [10_000, 99],
  ] as const)
    history.add(at, of({ a: value }));
  t.same(history.read('a', { fromMs: 0, toMs: 10_000, stepMs: 2_500 }), [3, null, 10, 20]);
  t.same(history.read('a', { fromMs: 2_000, toMs: 9_000, stepMs: 4_000 }), [4, 10]);
  t.same(history.read('a', { fromMs: 10_000, toMs: 10_000, stepMs: 1_000 }), []);
  t.equal(history.read('b', { fromMs: 0, toMs: 1, stepMs: 1 }), undefined);
  t.end();
});

t.test('a series that is not sampled for a while has a gap', (t) => {
  const history = new MetricsHistory();
  history.add(0, of({ a: 1, b: 1 }));
  history.add(1_000, of({ a: 2 }));
  history.add(2_000, of({ a: 3, b: 3 }));
  t.same(history.read('b', { fromMs: 0, toMs: 3_000, stepMs: 1_000 }), [1, null, 3]);
  t.same(history.names, ['a', 'b']);
  t.end();
});

t.test('the oldest sample makes room for the newest', (t) => {
  const history = new MetricsHistory({ places: 3 });
  for (const at of [0, 1, 2, 3, 4]) history.add(at, of({ a: at }));
  t.same(history.read('a', { fromMs: 0, toMs: 5, stepMs: 1 }), [null, null, 2, 3, 4]);
  t.end();
});

t.test('its size is bounded, however many series and samples there are', (t) => {
  const history = new MetricsHistory();
  const names = Array.from({ length: 1_000 }, (_, i) => [`s${i}`, i] as const);
  for (let i = 0; i < 10; i++) history.add(i, new Map(names));
  t.equal(history.names.length, 256);
  const full = history.bytes;
  t.ok(full < 6 * 1024 * 1024, `${full} bytes`);
  for (let i = 10; i < 20; i++) history.add(i, of({ [`late${i}`]: i, s0: i }));
  t.equal(history.bytes, full);
  t.same(history.read('s0', { fromMs: 19, toMs: 20, stepMs: 1 }), [19], 'known series go on');
  t.end();
});
