// How results are printed: each row when it is there, and the table of all at the end.

import type { BenchResult } from './row.ts';
import { textTable } from './text-table.ts';

export function printRow({ id, title, unit, figures, sides, bars, wrongLimit }: BenchResult): void {
  console.log(`  ${id}  ${title}`);
  const what = (name: string): string => (sides[name] ? ` (${sides[name].is}: ${sides[name].what})` : '');
  for (const [name, figure] of Object.entries(figures))
    console.log(`      ${name} ${figure}${name === 'ours' || sides[name] ? ` ${unit}` : ''}${what(name)}`);
  for (const { bar, value, range, met } of bars)
    console.log(`      bar ${bar}: ${value} (${range.join(' to ')}), ${met ? 'met' : 'MISSED'}`);
  if (wrongLimit) console.log('      the limit is wrong: ours beats it');
}

export function printTable(results: readonly BenchResult[]): void {
  const cells = results.map((result) => [
    result.id,
    shortened(result.title),
    `${result.ours}`,
    `${result.peer ?? '-'}`,
    `${result.limit ?? '-'}`,
    result.unit,
    `${result.ratio}`,
    result.range.join('..'),
    result.bar,
    verdict(result),
    result.ahead ? '' : 'BEHIND',
  ]);
  const head = ['row', 'measure', 'ours', 'peer', 'limit', 'unit', 'ratio', 'range', 'bar', '', ''];
  console.log(textTable([head, ...cells]));
  // P1a and P1b are one measure: met when both are.
  const withBars = results.filter(({ watched }) => !watched);
  const measures = Map.groupBy(withBars, ({ id }) => id.replace(/[a-z]$/, ''));
  const met = [...measures.values()].filter((rows) => rows.every((row) => row.met)).length;
  console.log(`${met} of ${measures.size} measures meet their bars`);
}

function verdict(result: BenchResult): string {
  if (result.watched) return 'watched';
  if (result.wrongLimit) return 'WRONG LIMIT';
  return result.met ? 'met' : 'MISSED';
}

const WIDEST = 60;
const shortened = (text: string): string => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);
