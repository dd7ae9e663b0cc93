// The process of one measure: node measure.ts FILE [ID ..] sends each row's result to run.ts; alone it prints them.

import { type BenchResult, type BenchRow, ROUNDS, resultOf } from './row.ts';

/** What a file of a measure exports. */
interface Measure {
  readonly rows: readonly BenchRow[];
  /** Ends what its rows share. */
  readonly close?: () => Promise<unknown>;
}

const USUAL_ROUNDS = 5;
const [file = '', ...ids] = process.argv.slice(2);
const measure = (await import(`./${file}`)) as Measure;
const same = (id: string, row: BenchRow): boolean => row.id.toUpperCase() === id || row.id.replace(/[a-z]$/, '') === id;
const chosen = measure.rows.filter((row) => ids.length === 0 || ids.some((id) => same(id, row)));
try {
  for (const row of chosen) await tell(resultOf(row, await row.measure(ROUNDS ?? row.rounds ?? USUAL_ROUNDS)));
} finally {
  await measure.close?.();
}
process.exit(0);

async function tell(result: BenchResult): Promise<void> {
  if (process.send) await new Promise<void>((sent) => process.send?.(result, () => sent()));
  else console.log(JSON.stringify(result, null, 2));
}
