// The table of docs/metrics.md, read, and what a registry has, in the same words.

import type { Metrics } from '../../engine/runtime/metrics.ts';

export interface MetricRow {
  readonly name: string;
  readonly type: string;
  /** In alphabetical order. */
  readonly labels: readonly string[];
  /** The metric's help text. */
  readonly meaning: string;
}

export interface MetricsTable {
  readonly rows: readonly MetricRow[];
  readonly groups: readonly string[];
  /** Rows that do not say what to watch for, or stand outside a group. */
  readonly lacking: readonly string[];
}

const COLUMNS = ['name', 'type', 'labels (values)', 'meaning', 'watch for'];

/** Throws when the table is not there, or is not a table of these columns. */
export function readMetricsTable(markdown: string): MetricsTable {
  const section = /^# Metrics\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(markdown)?.[1];
  if (section === undefined) throw new Error("no heading '# Metrics'");
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  const [head, , ...body] = lines.map(cellsOf);
  if (head?.join() !== COLUMNS.join()) throw new Error(`the columns are ${head?.join()}, not ${COLUMNS.join()}`);
  const rows: MetricRow[] = [];
  const groups: string[] = [];
  const lacking: string[] = [];
  for (const cells of body) {
    const [first = '', type = '', labels = '', meaning = '', watch = ''] = cells;
    if (cells.length !== COLUMNS.length) throw new Error(`a row of ${cells.length} cells: ${cells.join(' | ')}`);
    const group = /^\*\*(.+)\*\*$/.exec(first)?.[1];
    if (group !== undefined) {
      groups.push(group);
      continue;
    }
    const [name] = codesIn(first);
    if (name === undefined || first !== `\`${name}\``) throw new Error(`'${first}' is no metric's name in backticks`);
    if (groups.length === 0 || watch === '') lacking.push(name);
    rows.push({ name, type, labels: codesIn(labels).sort(), meaning });
  }
  return { rows, groups, lacking };
}

/** Every metric that is registered, whether or not it has a value yet. */
export async function registeredMetrics(metrics: Metrics): Promise<readonly MetricRow[]> {
  await metrics.text(); // Some are made at the first scrape.
  const described = await metrics.registry.getMetricsAsJSON();
  return described.map(({ name, help, type }) => {
    // The library knows the label names but does not declare them.
    const { labelNames } = metrics.registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] };
    return { name, type: String(type), labels: [...labelNames].sort(), meaning: help };
  });
}

/** The row as it is to stand in the table. */
export function printRow({ name, type, labels, meaning }: MetricRow): string {
  const names = labels.map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${type} | ${names} | ${meaning} | what to watch for |`;
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split('|')
    .map((cell) => cell.trim());

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');
