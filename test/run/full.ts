// Everything, within an hour on two cores. The last line is `N passed, N failed`; the result is kept in
// ../last-full-run.json, to be committed with the change. Files that are not committed are refused: nobody could repeat it.

import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FULL_RUN_FILE, type FullRun } from './last-full-run.ts';
import { SLOW_SUITES } from './slow-suites.ts';
import { runStep, type Step, type StepResult, summary } from './steps.ts';
import { root } from './suites.ts';

const STEPS: readonly Step[] = [
  { name: 'types', run: 'npm run --silent check:types', check: true },
  { name: 'style', run: 'npm run --silent check:style', check: true },
  { name: 'servers', run: 'node test/stack/install.ts', check: true },
  { name: 'unit', run: 'npm test --silent' },
  { name: 'integration', run: 'npm run --silent test:integration' },
  { name: 'matrix', run: 'npm run --silent test:matrix' },
  { name: 'simulation', run: 'npm run --silent test:simulation -- --seeds 2000' },
  { name: 'planted', run: 'npm run --silent test:simulation -- --planted' },
  { name: 'contract', run: 'npm run --silent check:contract' },
  { name: 'short e2e', run: 'npm run --silent test:e2e-short' },
  ...SLOW_SUITES,
];

process.exitCode = await main();

async function main(): Promise<number> {
  const changes = git('status', '--porcelain');
  if (changes !== '') {
    console.error(`commit first, so that the run can be repeated:\n${changes}`);
    return 2;
  }
  const commit = git('rev-parse', 'HEAD');
  const results: StepResult[] = [];
  for (const step of STEPS) results.push(await runStep(step));
  const { passed, failed, flaky } = summary(results);
  const seconds = Math.round(results.reduce((sum, result) => sum + result.seconds, 0));
  const suites = Object.fromEntries(
    results.map(({ name, passed, failed, seconds }) => [name, { passed, failed, seconds: Math.round(seconds) }]),
  );
  const run: FullRun = { commit, date: new Date().toISOString(), seconds, passed, failed, flaky, suites };
  await writeFile(join(root, FULL_RUN_FILE), `${JSON.stringify(run, null, 2)}\n`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
