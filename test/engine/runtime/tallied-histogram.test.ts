import * as prometheus from 'prom-client';
import t from 'tap';
import { TalliedHistogram } from '../../../engine/runtime/tallied-histogram.ts';

const BOUNDS = [0.001, 0.5, 1, 60];
const NAMES = ['route', 'method'];

t.test('a scrape shows what the library shows of the same values', async (t) => {
  const theirs = new prometheus.Registry();
  const ours = new prometheus.Registry();
  const options = { name: 'h', help: 'Help.', labelNames: NAMES, buckets: BOUNDS, registers: [theirs] };
  const slow = new prometheus.Histogram(options);
  const tallied = new TalliedHistogram('h', 'Help.', NAMES, BOUNDS);
  ours.registerMetric(tallied as unknown as prometheus.Metric);
  t.equal(await ours.metrics(), await theirs.metrics());
  for (const route of ['/a', '/b "quoted"'])
    for (const value of [0, -1, 0.001, 0.0011, 0.5, 0.75, 1, 59, 60, 60.5, 1e9]) {
      slow.observe({ route, method: 'GET' }, value);
      tallied.series({ route, method: 'GET' }).observe(value);
    }
  t.equal(await ours.metrics(), await theirs.metrics());
  t.equal(tallied.series({ route: '/a', method: 'GET' }), tallied.series({ method: 'GET', route: '/a' }));
});

t.test('without labels it is there before the first value', async (t) => {
  const theirs = new prometheus.Registry();
  const ours = new prometheus.Registry();
  new prometheus.Histogram({ name: 'h', help: 'Help.', buckets: BOUNDS, registers: [theirs] });
  ours.registerMetric(new TalliedHistogram('h', 'Help.', [], BOUNDS) as unknown as prometheus.Metric);
  t.equal(await ours.metrics(), await theirs.metrics());
});

t.test('other labels, and what is no number, are refused', async (t) => {
  const tallied = new TalliedHistogram('h', 'Help.', NAMES, BOUNDS);
  t.throws(() => tallied.series({ route: '/a' }), /has the labels route, method, not route/);
  t.throws(() => tallied.series({ route: '/a', method: 'GET', more: '' }), /not route, method, more/);
  t.throws(() => tallied.series({ route: '/a', method: 'GET' }).observe(Number.NaN), /NaN cannot be observed/);
});
