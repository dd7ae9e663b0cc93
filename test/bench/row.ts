// One row of the benchmark: what is measured beside what, which bars bind it, and what its rounds come to.

/** Of a short run, for trying. */
const numberOf = (name: string): number | undefined => Number(process.env[name]) || undefined;
export const DATASETS = numberOf('LONGSHORE_BENCH_DATASETS');
export const ROUNDS = numberOf('LONGSHORE_BENCH_ROUNDS');
/** Another checkout, whose program runs beside ours. */
export const AGAINST = process.env.LONGSHORE_BENCH_AGAINST || undefined;

/** Milliseconds of many calls. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

/** Figures by name, all taken in one round; `ours` is always one of them. */
export type Round = Readonly<Record<string, number>> & { readonly ours: number };

/**
 * What ours is held against: a peer is another program for the same work; a limit is what the machine can do at the same work,
 * so ours cannot beat it; an anchor is anything else that runs beside ours.
 */
export interface Side {
  readonly is: 'peer' | 'limit' | 'anchor';
  readonly what: string;
}

/** Bounds the median of a figure or, with `over`, of its ratio to another figure of the same round. */
export interface Bar {
  /** A figure's name; without it `ours`. */
  readonly of?: string;
  readonly over?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Of a figure that has another unit than the row. */
  readonly unit?: string;
}

export interface BenchRow {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  /** By the name of their figure in a round. */
  readonly sides: Readonly<Record<string, Side>>;
  /** The first that has `over` gives the row's ratio; without one it is that of ours to the first side. */
  readonly bars: readonly [Bar, ...Bar[]];
  /** A watched row has no goal of its own: its bars are printed and count for nothing. */
  readonly watched?: true;
  /** More than the usual, where those leave the median to chance. */
  readonly rounds?: number;
  /** Rounds alternate between ours and the sides. */
  readonly measure: (rounds: number) => Promise<readonly Round[]>;
}

export interface BarResult {
  readonly bar: string;
  readonly value: number;
  /** Lowest and highest of the rounds. */
  readonly range: readonly [number, number];
  readonly met: boolean;
}

export interface BenchResult {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly ours: number;
  /** The best of the peers; null where there is none. */
  readonly peer: number | null;
  /** The machine's; null where none was measured. */
  readonly limit: number | null;
  /** Of ours to what the first bar that compares names, and its range. */
  readonly ratio: number;
  readonly range: readonly [number, number];
  readonly bar: string;
  readonly met: boolean;
  /** Ours beats the limit: it has to be mended, and until then the row is missed. */
  readonly wrongLimit?: true;
  readonly watched?: true;
  /** Ours is at least as good as every peer. */
  readonly ahead: boolean;
  readonly bars: readonly BarResult[];
  /** Medians of all figures. */
  readonly figures: Readonly<Record<string, number>>;
  readonly sides: Readonly<Record<string, Side>>;
}

export function latencies(milliseconds: readonly number[]): Latencies {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), count: sorted.length };
}

/** A limit that ours beats by more is no limit. */
const WRONG_LIMIT = 1.05;

/** Medians over the rounds. Throws when a bar or a side names a figure that no round has. */
export function resultOf(row: BenchRow, rounds: readonly Round[]): BenchResult {
  const bars = row.bars.map((bar) => barResult(row, bar, rounds));
  const shown = bars[row.bars.findIndex((bar) => bar.over !== undefined)];
  const compared = shown ?? barResult(row, { over: Object.keys(row.sides)[0] ?? 'ours', atLeast: 0 }, rounds);
  const names = [...new Set(rounds.flatMap((round) => Object.keys(round)))];
  const median = (name: string): number => middle(figuresOf(row, name, rounds));
  const best = (role: Side['is']): number | null => {
    const all = Object.keys(row.sides).filter((name) => row.sides[name]?.is === role);
    if (all.length === 0) return null;
    return (row.better === 'lower' ? Math.min : Math.max)(...all.map(median));
  };
  const [ours, peer, limit] = [median('ours'), best('peer'), best('limit')];
  const beaten = limit !== null && (row.better === 'lower' ? limit / ours : ours / limit) > WRONG_LIMIT;
  return {
    ...{ id: row.id, title: row.title, unit: row.unit },
    ...{ ours: rounded(ours), peer: peer === null ? null : rounded(peer) },
    limit: limit === null ? null : rounded(limit),
    ...{ ratio: compared.value, range: compared.range, bar: (shown ?? (bars[0] as BarResult)).bar },
    met: bars.every((bar) => bar.met) && !beaten,
    ...(beaten ? { wrongLimit: true as const } : {}),
    ...(row.watched ? { watched: true as const } : {}),
    ahead: peer === null || (row.better === 'lower' ? ours <= peer : ours >= peer),
    ...{ bars, figures: Object.fromEntries(names.map((name) => [name, rounded(median(name))])), sides: row.sides },
  };
}

function barResult(row: BenchRow, bar: Bar, rounds: readonly Round[]): BarResult {
  const of = bar.of ?? 'ours';
  const figures = figuresOf(row, of, rounds);
  const over = bar.over === undefined ? undefined : figuresOf(row, bar.over, rounds);
  const values = figures.map((figure, n) => (over ? figure / (over[n] ?? Number.NaN) : figure));
  const value = middle(values);
  const unit = over ? `x ${bar.over}` : (bar.unit ?? row.unit);
  const bounds = [
    ...(bar.atMost === undefined ? [] : [`<= ${rounded(bar.atMost)} ${unit}`]),
    ...(bar.atLeast === undefined ? [] : [`>= ${rounded(bar.atLeast)} ${unit}`]),
  ];
  if (bounds.length === 0) throw new Error(`${row.id}: a bar of ${of} that bounds nothing`);
  return {
    bar: `${of} ${bounds.join(' and ')}`,
    value: rounded(value),
    range: [rounded(Math.min(...values)), rounded(Math.max(...values))],
    met: value <= (bar.atMost ?? Number.POSITIVE_INFINITY) && value >= (bar.atLeast ?? Number.NEGATIVE_INFINITY),
  };
}

function figuresOf(row: BenchRow, name: string, rounds: readonly Round[]): number[] {
  const all = rounds.map((round) => round[name]);
  const figures = all.filter((figure) => figure !== undefined && Number.isFinite(figure)) as number[];
  if (figures.length === 0 || figures.length < all.length) throw new Error(`${row.id}: a round without ${name}`);
  return figures;
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2;
}

/** Three significant digits, and all before the point. */
const rounded = (value: number): number => (Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
