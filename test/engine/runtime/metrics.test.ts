import t from 'tap';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { observeProcess } from '../../../engine/runtime/process-metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('prints counters, gauges and histograms under our prefix', async (t) => {
  const metrics = new Metrics();
  const jobs = metrics.counter('jobs_total', 'Jobs.', ['lane']);
  jobs.inc({ lane: 'import' });
  jobs.inc({ lane: 'import' }, 2);
  metrics.gauge('depth', 'Depth.').set({}, 7);
  metrics.histogram('run_seconds', 'Run.', ['lane'], [1, 10]).observe({ lane: 'import' }, 2);
  t.equal(
    await metrics.text(),
    `# HELP longshore_jobs_total Jobs.
# TYPE longshore_jobs_total counter
longshore_jobs_total{lane="import"} 3

# HELP longshore_depth Depth.
# TYPE longshore_depth gauge
longshore_depth 7

# HELP longshore_run_seconds Run.
# TYPE longshore_run_seconds histogram
longshore_run_seconds_bucket{le="1",lane="import"} 0
longshore_run_seconds_bucket{le="10",lane="import"} 1
longshore_run_seconds_bucket{le="+Inf",lane="import"} 1
longshore_run_seconds_sum{lane="import"} 2
longshore_run_seconds_count{lane="import"} 1
`,
  );
  t.equal(metrics.contentType, 'text/plain; version=0.0.4; charset=utf-8');
});

t.test('asking again gives the same metric, whoever asks', async (t) => {
  const metrics = new Metrics();
  metrics.counter('jobs_total', 'Jobs.', ['lane', 'outcome']).inc({ lane: 'a', outcome: 'done' });
  metrics.counter('jobs_total', 'Jobs.', ['outcome', 'lane']).inc({ lane: 'a', outcome: 'done' });
  t.match(await metrics.text(), 'longshore_jobs_total{lane="a",outcome="done"} 2');
});

t.test('another shape under the same name is a defect', async (t) => {
  const metrics = new Metrics();
  metrics.gauge('depth', 'Depth.', ['lane']);
  const expected = { kind: 'defect', message: /longshore_depth/ };
  t.throws(() => metrics.gauge('depth', 'Depth.'), expected);
  t.throws(() => metrics.histogram('depth', 'Depth.', ['lane']), expected);
});

t.test('names against the conventions are defects', async (t) => {
  const metrics = new Metrics();
  t.throws(() => metrics.counter('jobs', 'Jobs.'), { kind: 'defect', message: /_total|snake/ });
  t.throws(() => metrics.gauge('depth_total', 'Depth.'), { kind: 'defect', message: /_total|snake/ });
  t.throws(() => metrics.gauge('laneDepth', 'Depth.'), { kind: 'defect', message: /_total|snake/ });
  t.throws(() => metrics.histogram('run_ms', 'Run.'), { kind: 'defect', message: /base unit, not in ms/ });
  t.throws(() => metrics.counter('read_megabytes_total', 'Read.'), { kind: 'defect', message: /not in megabytes/ });
});

t.test('gauges can be read at scrape time', async (t) => {
  const metrics = new Metrics();
  const depth = metrics.gauge('depth', 'Depth.');
  let now = 1;
  const stop = metrics.onScrape(() => depth.set({}, now));
  t.match(await metrics.text(), /longshore_depth 1\n/);
  now = 2;
  t.match(await metrics.text(), /longshore_depth 2\n/);
  stop();
  now = 3;
  t.match(await metrics.text(), /longshore_depth 2\n/);
});

t.test('the process is described under the standard names, no gauge ending in _total', async (t) => {
  const metrics = new Metrics();
  const clock = new VirtualClock();
  using _sampling = observeProcess(metrics, clock);
  const names = async (): Promise<string[]> => {
    return [...(await metrics.text()).matchAll(/^([a-z]\w+) [0-9.e+-]+$/gm)].map((found) => String(found[1])).sort();
  };
  const expected = [
    'nodejs_eventloop_lag_p50_seconds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_heap_size_used_bytes',
    'process_cpu_seconds_total',
    'process_open_fds',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
  ];
  t.strictSame(await names(), expected);
  await clock.advance(10_000);
  t.strictSame(await names(), expected);
  t.notMatch(await metrics.text(), /# TYPE \w+_total gauge/);
});

t.test('a histogram refuses what is no number, and labels that it does not have', async (t) => {
  const histogram = new Metrics().histogram('run_seconds', 'Run.', ['lane']);
  t.throws(() => histogram.observe({ lane: 'import' }, Number.NaN), /NaN/);
  t.throws(() => histogram.observe({ lane: 'import', more: '' } as { lane: string }, 1), /more/);
});
