// Runs the tests of the contracts and holds them against their rows. A row counts when a test of its name ran and passed;
// a test that is no row, a row without a test, an operation or a documented success of a service that no answer showed
// are faults.
//   --examples    writes http/kernel/openapi/examples.json from the answers that were seen
// The last line is `N passed, N failed`; exit code 1 when anything is wrong.

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunResult } from '../run/suite.ts';
import { writeExamples } from './examples.ts';
import { answerFaults, rowFaults } from './faults.ts';
import type { Seen } from './recorder.ts';
import { ROWS, SERVICES } from './tables.ts';

const folder = await mkdtemp(join(tmpdir(), 'longshore-contract-'));
try {
  process.exitCode = await main();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function main(): Promise<number> {
  const file = join(folder, 'results.json');
  const seen = join(folder, 'seen');
  await run(file, seen);
  const { passed, failed, tests }: RunResult = JSON.parse(await readFile(file, 'utf8'));
  const faults = [...rowFaults(ROWS, tests), ...answerFaults(await kept(seen), SERVICES)];
  if (process.argv.includes('--examples')) await writeExamples(await kept(seen));
  for (const fault of faults) console.log(`FAIL ${fault}`);
  console.log(`${Object.keys(ROWS).length} rows, ${tests.length} tests`);
  const wrong = failed + faults.length;
  console.log(`${passed + (faults.length === 0 ? 1 : 0)} passed, ${wrong} failed`);
  return wrong === 0 ? 0 : 1;
}

async function kept(seen: string): Promise<readonly Seen[]> {
  const names = await readdir(seen).catch(() => []);
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(seen, name), 'utf8')) as Seen));
}

function run(results: string, seen: string): Promise<void> {
  const script = join(import.meta.dirname, '..', 'run', 'suite.ts');
  const child = spawn(process.execPath, [script, '--suite', 'contract', '--results', results], {
    stdio: 'inherit',
    env: { ...process.env, LONGSHORE_CONTRACT_SEEN: seen },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
