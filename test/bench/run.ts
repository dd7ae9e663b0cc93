// npm run bench [-- ID ..] [--against DIR] [--datasets N] [--rounds N]
// Measures side by side in one run, prints a table, and keeps each row in results/latest.json; a run that is made short with
// `--datasets` or `--rounds` is for trying, and keeps nothing. With `--against` P1 runs the program of another checkout, too.
// A measure is a file `p1-small-datasets.ts` here, or `w1-dispatch.ts` for a row that is watched only. It exports `rows` and
// runs in a process of its own, so that what one leaves in memory or has compiled does not count for another. Rows that were
// not asked for stay as they are.
// Ratios are what counts: absolute values only describe the machine and the day.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { BenchResult } from './row.ts';
import { printRow, printTable } from './table.ts';

/** A row as it is kept: with the machine's own speed in the same minutes. */
export interface KeptRow extends BenchResult {
  readonly date: string;
  /** How many times the work of one thread two threads did, before the measure. */
  readonly speedUp: number;
}

const RESULTS = join(import.meta.dirname, 'results', 'latest.json');
/** Two threads at once should do twice the work of one; less, and somebody else is using the machine. */
const NOISY_BELOW = 1.6;
const DEADLINE_MS = 2 * 60 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' }, datasets: { type: 'string' }, rounds: { type: 'string' } },
});
const short = values.datasets !== undefined || values.rounds !== undefined;
const env = {
  ...process.env,
  LONGSHORE_BENCH_AGAINST: values.against === undefined ? '' : resolve(values.against),
  LONGSHORE_BENCH_DATASETS: values.datasets ?? '',
  LONGSHORE_BENCH_ROUNDS: values.rounds ?? '',
};

/** Files by the id of their measure: P1, W2. */
const measures = new Map(
  globSync('[pw][0-9]*-*.ts', { cwd: import.meta.dirname })
    .map((file) => [(file.split('-')[0] as string).toUpperCase(), file] as const)
    .sort(([a], [b]) => byNumber(a, b)),
);
const wanted = positionals.map((id) => id.toUpperCase());
const unknown = wanted.filter((id) => !measures.has(measureOf(id)));
if (unknown.length > 0) {
  console.error(`unknown rows: ${unknown.join(', ')}; known are ${[...measures.keys()].join(', ')}`);
  process.exit(2);
}

const failed: string[] = [];
for (const [id, file] of measures) {
  const rows = wanted.filter((one) => measureOf(one) === id);
  if (wanted.length > 0 && rows.length === 0) continue;
  const speedUp = await twoThreadSpeedUp();
  const noise = speedUp < NOISY_BELOW ? ': too noisy to trust the values' : '';
  console.log(`${id}  (two threads do ${speedUp.toFixed(2)} times the work of one${noise})`);
  const results = await measured(file, rows);
  if (results === undefined) failed.push(id);
  else if (!short)
    await keep(results.map((result) => ({ ...result, date: new Date().toISOString(), speedUp: round(speedUp) })));
}
if (!short)
  printTable(
    (await kept()).filter(({ id }) => wanted.length === 0 || wanted.some((one) => measureOf(one) === measureOf(id))),
  );
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** What the rows of a file come to; undefined when it failed, with its reason on standard error. */
async function measured(file: string, rows: readonly string[]): Promise<readonly BenchResult[] | undefined> {
  const child = fork(join(import.meta.dirname, 'measure.ts'), [file, ...rows], {
    execArgv: ['--expose-gc'],
    env,
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const results: BenchResult[] = [];
  child.on('message', (result: BenchResult) => {
    results.push(result);
    printRow(result);
  });
  const [code] = await once(child, 'exit').catch((cause: unknown) => [cause]);
  if (code === 0) return results;
  console.error(`${file} ended with ${code}`);
  return undefined;
}

async function kept(): Promise<readonly KeptRow[]> {
  const text = await readFile(RESULTS, 'utf8').catch(() => '{"rows":[]}');
  return (JSON.parse(text) as { rows: KeptRow[] }).rows;
}

async function keep(results: readonly KeptRow[]): Promise<void> {
  const others = (await kept()).filter(({ id }) => !results.some((result) => result.id === id));
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  const rows = [...others, ...results].sort((a, b) => byNumber(a.id, b.id));
  await mkdir(join(RESULTS, '..'), { recursive: true });
  await writeFile(RESULTS, `${JSON.stringify({ machine, date: new Date().toISOString(), rows }, null, 2)}\n`);
}

/** P1 of P1a. */
function measureOf(id: string): string {
  return id.replace(/[A-Za-z]$/, '');
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

async function twoThreadSpeedUp(): Promise<number> {
  const { Worker } = await import('node:worker_threads');
  const loop = `const end = Date.now() + 400; let n = 0, turns = 0;
    while (Date.now() < end) { for (let i = 0; i < 1e5; i++) n += i % 7; turns++; }
    require('node:worker_threads').parentPort.postMessage(n > 0 ? turns : 0);`;
  const work = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(loop, { eval: true });
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  const alone = await work();
  const both = await Promise.all([work(), work()]);
  return (both[0] + both[1]) / alone;
}
