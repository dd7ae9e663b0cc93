// Counts by area, and what a run prints.

import { areaOf } from './areas.ts';
import type { Verdict } from './judge.ts';
import { type Mutant, shown } from './mutants.ts';

export interface Judged {
  readonly mutant: Mutant;
  readonly verdict: Verdict | { readonly kind: 'equivalent'; readonly reason: string };
}

const COLUMNS = ['killed', 'timeout', 'survived', 'not covered', 'equivalent'] as const;

/** Percent of the mutants that were noticed; equivalents do not count. 100 when there are none. */
export function score(judged: readonly Judged[]): number {
  const counted = judged.filter(({ verdict }) => verdict.kind !== 'equivalent');
  const noticed = counted.filter(({ verdict }) => verdict.kind === 'killed' || verdict.kind === 'timeout');
  return counted.length === 0 ? 100 : (100 * noticed.length) / counted.length;
}

/** A line for each area that has mutants, and one for all. */
export function table(judged: readonly Judged[]): readonly string[] {
  const areas = Map.groupBy(judged, ({ mutant }) => areaOf(mutant.file)?.name ?? '');
  const rows = [...areas].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, ofIt]) => row(name, ofIt));
  return [['area', 'mutants', ...COLUMNS, 'score'], ...rows, row('all', judged)].map(aligned);
}

function row(name: string, judged: readonly Judged[]): readonly string[] {
  const counts = COLUMNS.map((kind) => String(judged.filter(({ verdict }) => verdict.kind === kind).length));
  return [name, String(judged.length), ...counts, `${score(judged).toFixed(1)}%`];
}

const aligned = (cells: readonly string[]): string =>
  cells.map((cell, i) => (i === 0 ? cell.padEnd(14) : cell.padStart(12))).join('');

export function survivors(judged: readonly Judged[]): readonly string[] {
  return judged.flatMap(({ mutant, verdict }) => {
    if (verdict.kind === 'not covered') return [`${described(mutant)} (not covered)`];
    if (verdict.kind !== 'survived') return [];
    const { asked, left } = verdict;
    return [`${described(mutant)} (${asked.length} test files${left > 0 ? ` of ${asked.length + left}` : ''})`];
  });
}

export const described = ({ file, line, kind, before, after }: Mutant): string =>
  `${file}:${line} ${kind}: ${JSON.stringify(shown(before))} -> ${JSON.stringify(shown(after))}`;
