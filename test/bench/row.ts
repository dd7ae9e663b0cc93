// One measure of the benchmark: what it measures, against what, and how it is said.

/** Milliseconds of many calls. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

export interface Round {
  readonly ours: number;
  /** The same work by the peer, in the same round. */
  readonly peer: number;
}

export interface BenchRow {
  readonly id: string;
  readonly title: string;
  readonly unit: 'ms';
  /** What the peer is. */
  readonly peer: string;
  /** Highest value of ours that meets the bar; or, of `ratio`, of ours to the peer. */
  readonly bar: number;
  readonly barOf?: 'ours' | 'ratio';
  /** Rounds alternate between ours and the peer. */
  readonly measure: (rounds: number) => Promise<readonly Round[]>;
}

export interface BenchResult {
  readonly id: string;
  readonly title: string;
  readonly ours: number;
  readonly peer: number;
  /** The bar: what ours, or its ratio to the peer, may be at most. */
  readonly limit: number;
  readonly unit: string;
  /** Ours to the peer; below 1 = faster than the peer. */
  readonly ratio: number;
  readonly range: readonly [number, number];
  readonly bar: string;
  readonly met: boolean;
}

export function latencies(milliseconds: readonly number[]): Latencies {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), count: sorted.length };
}

/** Medians over the rounds; the range is that of the rounds' ratios. */
export function resultOf(row: BenchRow, rounds: readonly Round[]): BenchResult {
  const ratios = rounds.map(({ ours, peer }) => ours / peer).sort((a, b) => a - b);
  const ours = median(rounds.map((round) => round.ours));
  const byRatio = row.barOf === 'ratio';
  return {
    id: row.id,
    title: row.title,
    ours: rounded(ours),
    peer: rounded(median(rounds.map((round) => round.peer))),
    limit: row.bar,
    unit: row.unit,
    ratio: rounded(median(ratios)),
    range: [rounded(ratios[0] ?? 0), rounded(ratios.at(-1) ?? 0)],
    bar: byRatio ? `<= ${row.bar} x` : `<= ${row.bar} ${row.unit}`,
    met: (byRatio ? median(ratios) : ours) <= row.bar,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
