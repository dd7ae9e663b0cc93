// Everything, within an hour on two cores. The last line is `N passed, N failed`; the result is kept in
// ../last-full-run.json, to be committed with the change. Files that are not committed are refused: nobody could repeat it.
//
//   --again   runs what was red in the kept result, and adds it to the rest. The result stays as old as its first run.

import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FULL_RUN_FILE, type FullRun, joined, ofToday, redSteps } from './last-full-run.ts';
import { SLOW_SUITES } from './slow-suites.ts';
import { runStep, type Step, type StepResult, summary } from './steps.ts';
import { root } from './suites.ts';

const STEPS: readonly Step[] = [
  { name: 'types', run: 'npm run --silent check:types', check: true },
  { name: 'style', run: 'npm run --silent check:style', check: true },
  // They call what the product is made of, and so break with it.
  { name: 'benchmarks', run: 'npm run --silent check:bench', check: true },
  { name: 'servers', run: 'node test/stack/install.ts', check: true },
  { name: 'unit', run: 'npm test --silent' },
  { name: 'integration', run: 'npm run --silent test:integration' },
  { name: 'matrix', run: 'npm run --silent test:matrix' },
  { name: 'simulation', run: 'npm run --silent test:simulation -- --seeds 2000' },
  { name: 'planted', run: 'npm run --silent test:simulation -- --planted' },
  { name: 'contract', run: 'npm run --silent check:contract' },
  { name: 'short e2e', run: 'npm run --silent test:e2e-short' },
  ...SLOW_SUITES,
  // Never in a landing, which has no time for it.
  { name: 'soak', run: 'npm run --silent test:soak -- --minutes 3' },
];

process.exitCode = await main();

async function main(): Promise<number> {
  const changes = git('status', '--porcelain');
  if (changes !== '') {
    console.error(`commit first, so that the run can be repeated:\n${changes}`);
    return 2;
  }
  const { again } = parseArgs({ options: { again: { type: 'boolean', default: false } } }).values;
  const file = join(root, FULL_RUN_FILE);
  const before: FullRun | undefined = again ? ofToday(JSON.parse(await readFile(file, 'utf8')), STEPS) : undefined;
  const results: StepResult[] = [];
  for (const step of before ? redSteps(before, STEPS) : STEPS) results.push(await runStep(step));
  const { flaky } = summary(results);
  const run = joined(before, { commit: git('rev-parse', 'HEAD'), date: new Date().toISOString(), flaky, results });
  await writeFile(file, `${JSON.stringify(run, null, 2)}\n`);
  console.log(`${run.passed} passed, ${run.failed} failed`);
  return run.failed === 0 ? 0 : 1;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
