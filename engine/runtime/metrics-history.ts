// The recent history of the main numbers of this process, in memory of fixed size. It is lost when the process ends.
//
//   ring     one place per sample; the oldest is overwritten
//   series   one array of 32-bit numbers, allocated at its first value; further series than MAX_SERIES are left out

/** One sample every 15 s, for 24 h. */
export const SAMPLE_MS = 15_000;
const PLACES = 86_400_000 / SAMPLE_MS;
/** With 23 KiB each, 6 MiB in all. */
const MAX_SERIES = 256;

/** Averages of a series, one per step; null where nothing was sampled. */
export type HistoryPoints = readonly (number | null)[];

export interface HistoryRange {
  /** Milliseconds since 1970, like `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
}

export class MetricsHistory {
  readonly #times: Float64Array<ArrayBuffer>;
  readonly #series = new Map<string, Float32Array<ArrayBuffer>>();
  readonly #maxSeries: number;
  #next = 0;

  constructor({ places = PLACES, maxSeries = MAX_SERIES } = {}) {
    this.#times = new Float64Array(places).fill(Number.NaN);
    this.#maxSeries = maxSeries;
  }

  /** All series, in the order of their first values. */
  get names(): readonly string[] {
    return [...this.#series.keys()];
  }

  /** Bytes of the arrays. */
  get bytes(): number {
    return this.#times.byteLength + this.#series.size * this.#times.length * Float32Array.BYTES_PER_ELEMENT;
  }

  add(atMs: number, values: ReadonlyMap<string, number>): void {
    this.#times[this.#next] = atMs;
    for (const series of this.#series.values()) series[this.#next] = Number.NaN;
    for (const [name, value] of values) {
      const series = this.#series.get(name) ?? this.#allocate(name);
      if (series) series[this.#next] = value;
    }
    this.#next = (this.#next + 1) % this.#times.length;
  }

  /** Undefined for a series that does not exist. */
  read(name: string, { fromMs, toMs, stepMs }: HistoryRange): HistoryPoints | undefined {
    const series = this.#series.get(name);
    if (!series) return undefined;
    const count = Math.max(0, Math.ceil((toMs - fromMs) / stepMs));
    const sums = new Float64Array(count);
    const counts = new Uint32Array(count);
    for (const [place, at] of this.#times.entries()) {
      const step = Math.floor((at - fromMs) / stepMs);
      const value = series[place] ?? Number.NaN;
      // `step` is NaN for a place without a sample.
      if (!(step >= 0 && step < count && at < toMs) || Number.isNaN(value)) continue;
      sums[step] = (sums[step] ?? 0) + value;
      counts[step] = (counts[step] ?? 0) + 1;
    }
    return Array.from(sums, (sum, step) => (counts[step] ? sum / (counts[step] ?? 1) : null));
  }

  #allocate(name: string): Float32Array<ArrayBuffer> | undefined {
    if (this.#series.size >= this.#maxSeries) return undefined;
    const series = new Float32Array(this.#times.length).fill(Number.NaN);
    this.#series.set(name, series);
    return series;
  }
}
