// Runs the tests of contract 1 and holds them against its rows. A row counts when a test of its name ran and passed; a
// test that is no row, a row without a test, an operation or a documented success that no answer showed are faults.
// The last line is `N passed, N failed`; exit code 1 when anything is wrong.

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunResult } from '../support/run.ts';
import { ROWS } from './installer.ts';
import type { Seen } from './recorder.ts';

/** Successes that no test can bring about, and why. */
const NEVER_SEEN: Readonly<Record<string, string>> = {};

const folder = await mkdtemp(join(tmpdir(), 'longshore-contract-'));
try {
  process.exitCode = await main();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function main(): Promise<number> {
  const file = join(folder, 'results.json');
  await run(file, join(folder, 'seen'));
  const { passed, failed, tests }: RunResult = JSON.parse(await readFile(file, 'utf8'));
  const faults = [...faultsOfRows(tests), ...(await faultsOfAnswers())];
  for (const fault of faults) console.log(`FAIL ${fault}`);
  console.log(`${Object.keys(ROWS).length} rows, ${tests.length} tests`);
  const wrong = failed + faults.length;
  console.log(`${passed + (faults.length === 0 ? 1 : 0)} passed, ${wrong} failed`);
  return wrong === 0 ? 0 : 1;
}

function faultsOfRows(tests: RunResult['tests']): readonly string[] {
  const proven = new Set(tests.filter(({ ok }) => ok).map(({ name }) => name));
  const broken = new Set(tests.filter(({ ok }) => !ok).map(({ name }) => name));
  return [
    ...Object.keys(ROWS)
      .filter((id) => !proven.has(id) || broken.has(id))
      .map((id) => `no test of '${id}' ran and passed`),
    ...tests.filter(({ name }) => !(name in ROWS)).map(({ name, file }) => `'${name}' of ${file} is no row`),
  ];
}

async function faultsOfAnswers(): Promise<readonly string[]> {
  const documented = new Set<string>();
  const seen = new Set<string>();
  for (const name of await readdir(join(folder, 'seen')).catch(() => [])) {
    const kept = JSON.parse(await readFile(join(folder, 'seen', name), 'utf8')) as Seen;
    for (const one of kept.documented) documented.add(one);
    for (const one of kept.seen) seen.add(one);
  }
  if (documented.size === 0) return ['no test has kept what it saw'];
  return [
    ...[...documented].filter((one) => !seen.has(one) && !(one in NEVER_SEEN)).map((one) => `no test saw '${one}'`),
    ...Object.keys(NEVER_SEEN)
      .filter((one) => seen.has(one) || !documented.has(one))
      .map((one) => `'${one}' is no exception`),
  ];
}

function run(results: string, seen: string): Promise<void> {
  const script = join(import.meta.dirname, '..', 'support', 'run.ts');
  const child = spawn(process.execPath, [script, '--suite', 'contract', '--results', results], {
    stdio: 'inherit',
    env: { ...process.env, LONGSHORE_CONTRACT_SEEN: seen },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
