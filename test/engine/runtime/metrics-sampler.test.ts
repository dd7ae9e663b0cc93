import t from 'tap';
import { laneMetrics } from '../../../engine/jobs/lane-options.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { MetricsSampler } from '../../../engine/runtime/metrics-sampler.ts';

const seen = (values: ReadonlyMap<string, number>): object => Object.fromEntries([...values].sort());

t.test('gauges are taken as they are, under the names of the history', async (t) => {
  const metrics = new Metrics();
  metrics.onScrape(() => metrics.gauge('disk_free_bytes', 'x', ['folder']).set({ folder: '/data' }, 7));
  metrics.gauge('jobs', 'x', ['lane', 'state']).set({ lane: 'import', state: 'queued' }, 3);
  metrics.gauge('jobs_oldest_seconds', 'x', ['lane']).set({ lane: 'import' }, 60);
  metrics.gauge('datasets', 'x', ['status']).set({ status: 'complete' }, 5);
  metrics.gauge('worker_threads', 'x').set({}, 2);
  t.same(seen(await new MetricsSampler(metrics).sample(0)), {
    'datasets.complete': 5,
    'disk./data.free': 7,
    'lane.import.oldest': 60,
    'lane.import.queued': 3,
  });
});

t.test('counters become rates and histograms means, from the second sample on', async (t) => {
  const metrics = new Metrics();
  const lane = laneMetrics(metrics, 'import');
  const requests = metrics.counter('http_requests_total', 'x', ['status', 'route']);
  const sampler = new MetricsSampler(metrics);
  lane.finished({ kind: 'done' }, 9_000);
  requests.inc({ status: '200', route: '/a' }, 50);
  t.same(seen(await sampler.sample(0)), {});
  for (const ranMs of [2_000, 4_000]) lane.finished({ kind: 'done' }, ranMs);
  lane.finished({ kind: 'dead', failure: 'defect' }, 6_000);
  lane.finished({ kind: 'retry', countsAttempt: true }, 4_000);
  lane.finished({ kind: 'retry', countsAttempt: false }, 4_000);
  lane.started(500);
  requests.inc({ status: '200', route: '/a' }, 10);
  requests.inc({ status: '204', route: '/b' }, 10);
  requests.inc({ status: '503', route: '/b' }, 5);
  t.same(seen(await sampler.sample(10_000)), {
    'lane.import.done': 0.2,
    'lane.import.failed': 0.2,
    'lane.import.run': 4,
    'lane.import.wait': 0.5,
    'requests.2xx': 2,
    'requests.5xx': 0.5,
  });
  const idle = seen(await sampler.sample(20_000));
  t.match(idle, { 'lane.import.done': 0, 'requests.2xx': 0 });
  t.notMatch(idle, { 'lane.import.run': Number }, 'no job has run since');
});
