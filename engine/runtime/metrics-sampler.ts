// Turns the metrics of this process into the series of its history. Counters become rates per second and histograms become means,
// both since the previous sample.
//
//   lane.L.queued, .running, .delayed, .dead, .oldest   of the job table; seconds
//   lane.L.done, .failed                                per second; failed attempts, whether or not they are retried
//   lane.L.wait, .run                                   mean seconds; absent when no job started or ended
//   process.memory, .cpu, .delay                        bytes; cores; 99th percentile of the event-loop delay in seconds
//   disk.FOLDER.free                                    bytes
//   datasets.STATUS                                     number of datasets
//   requests.2xx, .3xx, .4xx, .5xx                      per second

import type { MetricSample, Metrics } from './metrics.ts';

const MS = 1_000;

type Labels = MetricSample['labels'];
type NameOf = (labels: Labels) => string | undefined;

const GAUGES: readonly (readonly [metric: string, name: NameOf])[] = [
  ['longshore_jobs', ({ lane, state }) => `lane.${lane}.${state}`],
  ['longshore_jobs_oldest_seconds', ({ lane }) => `lane.${lane}.oldest`],
  ['process_resident_memory_bytes', () => 'process.memory'],
  ['nodejs_eventloop_lag_p99_seconds', () => 'process.delay'],
  ['longshore_disk_free_bytes', ({ folder }) => `disk.${folder}.free`],
  ['longshore_datasets', ({ status }) => `datasets.${status}`],
];

/** Several counters may add to one series. */
const COUNTERS: readonly (readonly [metric: string, name: NameOf])[] = [
  ['longshore_lane_jobs_total', ({ lane, outcome }) => laneRate(lane, outcome)],
  ['longshore_lane_retries_total', ({ lane, cause }) => (cause === 'failed' ? `lane.${lane}.failed` : undefined)],
  ['process_cpu_seconds_total', () => 'process.cpu'],
  ['longshore_http_requests_total', ({ status = '' }) => `requests.${status.slice(0, 1)}xx`],
];

const HISTOGRAMS: readonly (readonly [metric: string, name: NameOf])[] = [
  ['longshore_lane_wait_seconds', ({ lane }) => `lane.${lane}.wait`],
  ['longshore_lane_run_seconds', ({ lane }) => `lane.${lane}.run`],
];

function laneRate(lane: string | undefined, outcome: string | undefined): string | undefined {
  if (outcome === 'done') return `lane.${lane}.done`;
  return outcome === 'dead' || outcome === 'failed' ? `lane.${lane}.failed` : undefined;
}

export class MetricsSampler {
  readonly #metrics: Pick<Metrics, 'collect' | 'samples'>;
  /** Totals at the previous sample: counters, and sums and counts of histograms. */
  #before: { readonly atMs: number; readonly totals: ReadonlyMap<string, number> } | undefined;

  constructor(metrics: Pick<Metrics, 'collect' | 'samples'>) {
    this.#metrics = metrics;
  }

  /** The first sample has no rates. */
  async sample(nowMs: number): Promise<ReadonlyMap<string, number>> {
    this.#metrics.collect();
    const values = new Map<string, number>();
    for (const [metric, nameOf] of GAUGES)
      for (const { labels, value } of await this.#metrics.samples(metric)) {
        const name = nameOf(labels);
        if (name !== undefined) values.set(name, value);
      }
    const rates = await this.#totals(COUNTERS, () => '');
    const means = await this.#totals(HISTOGRAMS, ({ part }) => (part === 'bucket' ? undefined : ` ${part}`));
    const before = this.#before;
    this.#before = { atMs: nowMs, totals: new Map([...rates, ...means]) };
    if (!before || nowMs <= before.atMs) return values;
    const since = (name: string, total: number): number => Math.max(0, total - (before.totals.get(name) ?? 0));
    const seconds = (nowMs - before.atMs) / MS;
    for (const [name, total] of rates) values.set(name, since(name, total) / seconds);
    for (const [key, total] of means) {
      if (!key.endsWith(' count')) continue;
      const name = key.slice(0, -' count'.length);
      const count = since(key, total);
      if (count > 0) values.set(name, since(`${name} sum`, means.get(`${name} sum`) ?? 0) / count);
    }
    return values;
  }

  async #totals(
    metrics: readonly (readonly [string, NameOf])[],
    suffixOf: (sample: MetricSample) => string | undefined,
  ): Promise<Map<string, number>> {
    const totals = new Map<string, number>();
    for (const [metric, nameOf] of metrics)
      for (const sample of await this.#metrics.samples(metric)) {
        const [name, suffix] = [nameOf(sample.labels), suffixOf(sample)];
        if (name === undefined || suffix === undefined) continue;
        totals.set(name + suffix, (totals.get(name + suffix) ?? 0) + sample.value);
      }
    return totals;
  }
}
