// A histogram of the Prometheus library's registry that is kept as plain counts. The library's own finds the series anew for
// every value, by names that it checks and a text that it makes of them, which costs as much as the rest of a small request;
// here whoever observes often keeps the series.

import { defect } from './failure.ts';

export interface Series {
  observe(value: number): void;
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** As the registry reads its metrics. */
export class TalliedHistogram {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Tally>();

  /** @param bounds upper ones, ascending, without infinity */
  constructor(name: string, help: string, labelNames: readonly string[], bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.#bounds = bounds;
    if (labelNames.length === 0) this.series({});
  }

  /** The same for the same labels; all that the histogram has must be there, and no others. */
  series(labels: Labels): Series {
    const key = JSON.stringify(this.labelNames.map((name) => labels[name]));
    const known = this.#series.get(key);
    if (known) return known;
    const given = Object.keys(labels);
    if (given.length !== this.labelNames.length || given.some((name) => !this.labelNames.includes(name)))
      throw defect(`${this.name} has the labels ${this.labelNames.join(', ')}, not ${given.join(', ')}`);
    const made = new Tally(this.name, labels, this.#bounds);
    this.#series.set(key, made);
    return made;
  }

  async get(): Promise<object> {
    const values = [...this.#series.values()].flatMap((tally) => tally.samples());
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  reset(): void {
    this.#series.clear();
  }
}

class Tally implements Series {
  readonly #name: string;
  readonly #labels: Labels;
  readonly #bounds: readonly number[];
  /** By the smallest bound that holds the value; the last is of what no bound holds. */
  readonly #counts: number[];
  #sum = 0;

  constructor(name: string, labels: Labels, bounds: readonly number[]) {
    this.#name = name;
    this.#labels = labels;
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) throw defect(`${this.#name}: ${value} cannot be observed`);
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  samples(): readonly Sample[] {
    let count = 0;
    const buckets = this.#counts.map((more, i) => {
      count += more;
      const labels = { le: this.#bounds[i] ?? '+Inf', ...this.#labels };
      return { metricName: `${this.#name}_bucket`, labels, value: count };
    });
    const sum = { metricName: `${this.#name}_sum`, labels: this.#labels, value: this.#sum };
    return [...buckets, sum, { metricName: `${this.#name}_count`, labels: this.#labels, value: count }];
  }
}
