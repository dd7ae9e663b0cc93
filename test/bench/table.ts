// How results are printed: each row when it is there, and the table of all at the end.

import type { BenchResult } from './row.ts';
import { textTable } from './text-table.ts';

export function printRow({ id, title, unit, figures, sides, bars }: BenchResult): void {
  console.log(`  ${id}  ${title}`);
  const what = (name: string): string => (sides[name] ? ` (${sides[name].is}: ${sides[name].what})` : '');
  for (const [name, figure] of Object.entries(figures))
    console.log(`      ${name} ${figure}${name === 'ours' || sides[name] ? ` ${unit}` : ''}${what(name)}`);
  for (const { bar, value, range, met } of bars)
    console.log(`      bar ${bar}: ${value} (${range.join(' to ')}), ${met ? 'met' : 'MISSED'}`);
}

export function printTable(results: readonly BenchResult[]): void {
  const cells = results.map(({ id, title, ours, peer, limit, unit, ratio, range, bar, met, ahead }) => [
    id,
    shortened(title),
    `${ours}`,
    `${peer ?? '-'}`,
    `${limit ?? '-'}`,
    unit,
    `${ratio}`,
    range.join('..'),
    bar,
    met ? 'met' : 'MISSED',
    ahead ? '' : 'BEHIND',
  ]);
  const head = ['row', 'measure', 'ours', 'peer', 'limit', 'unit', 'ratio', 'range', 'bar', '', ''];
  console.log(textTable([head, ...cells]));
  // S3a and S3b are one measure: met when both are.
  const measures = Map.groupBy(results, ({ id }) => id.replace(/[a-z]$/, ''));
  const met = [...measures.values()].filter((rows) => rows.every((row) => row.met)).length;
  console.log(`${met} of ${measures.size} measures meet their bars`);
}

const WIDEST = 60;
const shortened = (text: string): string => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);
