// npm run bench [-- ID ..]: measures side by side in one run, prints a table, and writes results/latest.json.
// Ratios are what counts: absolute values only describe the machine and the day.

import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { type ManyEndUsers, manyEndUsers } from './many-end-users.ts';
import { type BenchResult, type BenchRow, resultOf } from './row.ts';
import { s1 } from './s1-listing.ts';
import { s2 } from './s2-all-datasets.ts';
import { s3 } from './s3-permissions.ts';
import { s4 } from './s4-end-users.ts';
import { type ReportBench, reportBench, s5 } from './s5-reports.ts';

// A million rows, or a large search, are made once for all rows that need them, when the first does.
await using sites = new AsyncDisposableStack();
let endUsers: Promise<ManyEndUsers> | undefined;
const withEndUsers = (): Promise<ManyEndUsers> => {
  endUsers ??= manyEndUsers().then((site) => sites.use(site));
  return endUsers;
};
let reports: Promise<ReportBench> | undefined;
const withReports = (): Promise<ReportBench> => {
  reports ??= reportBench().then((site) => sites.use(site));
  return reports;
};
const ROWS: readonly BenchRow[] = [s1, s2, ...s3(withEndUsers), ...s4(withEndUsers), ...s5(withReports)];
const ROUNDS = 5;
/** Two threads at once should do twice the work of one; less, and somebody else is using the machine. */
const NOISY_BELOW = 1.6;

const wanted = process.argv.slice(2);
/** `S3` stands for S3a and S3b. */
const isMeant = (id: string, { id: known }: BenchRow): boolean => known === id || known.replace(/[a-z]$/, '') === id;
const unknown = wanted.filter((id) => !ROWS.some((row) => isMeant(id, row)));
if (unknown.length > 0) {
  console.error(`unknown rows: ${unknown.join(', ')}; known are ${ROWS.map((row) => row.id).join(', ')}`);
  process.exit(2);
}

const speedUp = await twoThreadSpeedUp();
const noise = speedUp < NOISY_BELOW ? ' - the machine is too noisy to trust the values' : '';
console.log(`two threads do ${speedUp.toFixed(2)} times the work of one${noise}`);
const results: BenchResult[] = [];
for (const row of ROWS.filter((one) => wanted.length === 0 || wanted.some((id) => isMeant(id, one)))) {
  const result = resultOf(row, await row.measure(ROUNDS));
  results.push(result);
  const { ours, peer, unit, ratio, range, bar, met } = result;
  console.log(`${row.id}  ${row.title}`);
  console.log(`    ours ${ours} ${unit}, peer ${peer} ${unit} (${row.peer})`);
  console.log(`    ratio ${ratio} (${range.join(' to ')}), bar ${bar}: ${met ? 'met' : 'MISSED'}`);
}
const folder = join(import.meta.dirname, 'results');
await mkdir(folder, { recursive: true });
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, speedUp };
const report = { machine, date: new Date().toISOString(), rows: results };
await writeFile(join(folder, 'latest.json'), `${JSON.stringify(report, null, 2)}\n`);

async function twoThreadSpeedUp(): Promise<number> {
  const { Worker } = await import('node:worker_threads');
  const loop = `const end = Date.now() + 400; let n = 0; while (Date.now() < end) for (let i = 0; i < 1e5; i++) n += i % 7;
    const turns = n; require('node:worker_threads').parentPort.postMessage(turns);`;
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
