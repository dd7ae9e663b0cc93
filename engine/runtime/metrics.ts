// Metrics of one process in the Prometheus text format. Names get the prefix `longshore_` and follow its conventions: base
// units (seconds, bytes), counters end in `_total`. Requesting a metric again returns the same one, so that a restarted child
// continues its counts. Label values come from configuration or from our code, never from users: their number must be bounded.

import * as prometheus from 'prom-client';
import { defect } from './failure.ts';

type Labels<L extends string> = { readonly [K in L]: string };

export interface Counter<L extends string> {
  inc(labels: Labels<L>, by?: number): void;
}

export interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void;
}

/** `part` is `bucket`, `sum` or `count` for a histogram, and empty otherwise. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly value: number;
  readonly part: string;
}

interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
}

/** Upper bounds in seconds, from a thread's answer to an hour-long import. */
const DURATION_BUCKETS: readonly number[] = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 3600];

const PREFIX = 'longshore_';
const SCALED_UNIT = /_(ms|millis|milliseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|percent)(?=_|$)/;

export class Metrics {
  /** For metrics with standard names (process-metrics.ts). Everything else uses the factory methods. */
  readonly registry = new prometheus.Registry();
  readonly #collectors = new Set<() => void>();
  readonly #shapes = new Map<string, string>();

  readonly contentType: string = this.registry.contentType;

  /** Updates the metrics that are otherwise read only at a scrape. */
  collect(): void {
    for (const collect of this.#collectors) collect();
  }

  /** The current values of one metric; none if there is no such metric. @param name with its prefix */
  async samples(name: string): Promise<readonly MetricSample[]> {
    const metric = this.registry.getSingleMetric(name);
    if (!metric) return [];
    const { values } = await metric.get();
    return values.map(({ labels, value, ...more }) => {
      // Of a histogram, the name of each value says which part of it the value is.
      const full = 'metricName' in more ? String(more.metricName) : name;
      return { labels: labels as MetricSample['labels'], value, part: full.slice(name.length + 1) };
    });
  }

  /** The response text of a scrape. */
  async text(): Promise<string> {
    this.collect();
    return await this.registry.metrics();
  }

  /** Calls `collect` before every scrape, to set gauges that are cheaper to read than to maintain. */
  onScrape(collect: () => void): () => void {
    this.#collectors.add(collect);
    return () => this.#collectors.delete(collect);
  }

  counter<const L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    if (!name.endsWith('_total')) throw defect(`counter '${name}' must end with _total`);
    const counter = this.#once(name, 'counter', labelNames, (full) => {
      return new prometheus.Counter({ name: full, help, labelNames: [...labelNames], registers: [this.registry] });
    });
    return { inc: (labels, by = 1) => counter.inc(labels, by) };
  }

  gauge<const L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    if (name.endsWith('_total')) throw defect(`gauge '${name}' must not end with _total`);
    const gauge = this.#once(name, 'gauge', labelNames, (full) => {
      return new prometheus.Gauge({ name: full, help, labelNames: [...labelNames], registers: [this.registry] });
    });
    return { set: (labels, value) => gauge.set(labels, value) };
  }

  histogram<const L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    buckets: readonly number[] = DURATION_BUCKETS,
  ): Histogram<L> {
    const histogram = this.#once(name, 'histogram', labelNames, (full) => {
      const settings = { name: full, help, labelNames: [...labelNames], buckets: [...buckets] };
      return new prometheus.Histogram({ ...settings, registers: [this.registry] });
    });
    return { observe: (labels, value) => histogram.observe(labels, value) };
  }

  #once<M extends object>(name: string, type: string, labelNames: readonly string[], create: (full: string) => M): M {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) throw defect(`metric name '${name}' must be lower snake case`);
    const scaled = SCALED_UNIT.exec(name);
    if (scaled) throw defect(`metric name '${name}' must be in the base unit, not in ${scaled[1]}`);
    const full = PREFIX + name;
    const shape = `${type}(${[...labelNames].sort().join()})`;
    const known = this.#shapes.get(full);
    if (known !== undefined && known !== shape) throw defect(`metric '${full}' is already a ${known}, not a ${shape}`);
    this.#shapes.set(full, shape);
    // The same shape means that the existing metric came from the same kind of `create`.
    return known === undefined ? create(full) : (this.registry.getSingleMetric(full) as unknown as M);
  }
}
