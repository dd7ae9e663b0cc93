// What must hold before a change lands, in a quarter of an hour on two cores. The last line is `N passed, N failed`.
//   node test/run/landing.ts [--base REV] [--commit REV]
// Rows of the matrices, seeds of the simulation and the turn of the slow suites come from the commit. So a landing can be
// repeated exactly: check out the commit and run it again, or name the commit whose choice is wanted.

import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { FULL_RUN_FILE, fullRunFault } from './last-full-run.ts';
import { chooseSlow, SLOW_SECONDS, SLOW_SUITES } from './slow-suites.ts';
import { runStep, type Step, type StepResult, summary } from './steps.ts';
import { root } from './suites.ts';

/** A change is what was committed within so long before its last commit; nobody works longer on one. */
const CHANGE_SECONDS = 3 * 3_600;
/** One row in so many of each matrix. */
const ONE_ROW_IN = 6;
const SIMULATION_SEEDS = 500;

const { values } = parseArgs({ options: { base: { type: 'string' }, commit: { type: 'string', default: 'HEAD' } } });
const commit = git('rev-parse', `${values.commit}^{commit}`);
/** From 1 to 2^28: what the first seven digits of the commit say. */
const seed = Number.parseInt(commit.slice(0, 7), 16) + 1;
const base = values.base ?? baseOf(commit);
process.exitCode = await main();

async function main(): Promise<number> {
  const changed = git('diff', '--name-only', base, commit).split('\n');
  const { chosen, left } = chooseSlow(SLOW_SUITES, changed, seed, SLOW_SECONDS);
  console.log(`commit ${commit}, seed ${seed}, ${changed.length} files changed since ${base}`);
  console.log(`slow suites: ${chosen.map(({ name }) => name).join(', ')}`);
  if (left.length > 0) console.log(`no time for, though touched: ${left.map(({ name }) => name).join(', ')}`);
  const results: StepResult[] = [lastFullRun()];
  for (const step of [...always(), ...chosen]) results.push(await runStep(step));
  const { passed, failed } = summary(results);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function always(): readonly Step[] {
  const seeds = `--seeds ${SIMULATION_SEEDS} --from ${seed}`;
  return [
    { name: 'types', run: 'npm run --silent check:types', check: true },
    { name: 'style', run: 'npm run --silent check:style', check: true },
    { name: 'audit', run: 'node test/run/audit.ts', check: true },
    // They call what the product is made of, and so break with it.
    { name: 'benchmarks', run: 'npm run --silent check:bench', check: true },
    // Tests of archives and of tables compare with these programs, and skip what is missing.
    { name: 'foreign programs', run: 'node test/stack/install.ts zip unzip python3', check: true },
    { name: 'unit', run: 'npm test --silent' },
    { name: 'integration', run: 'npm run --silent test:integration' },
    { name: 'matrix', run: `npm run --silent test:matrix -- --sample ${ONE_ROW_IN} --seed ${seed}` },
    { name: 'simulation', run: `npm run --silent test:simulation -- ${seeds}` },
    { name: 'planted', run: 'npm run --silent test:simulation -- --planted' },
    { name: 'contract', run: 'npm run --silent check:contract' },
    { name: 'short e2e', run: 'npm run --silent test:e2e-short' },
  ];
}

function lastFullRun(): StepResult {
  const fault = fullRunFault((from) => Number(git('rev-list', '--count', `${from}..${commit}`)));
  if (fault !== undefined) console.log(`FAIL ${FULL_RUN_FILE}: ${fault}`);
  const passed = Number(fault === undefined);
  return { name: 'last full run', passed, failed: 1 - passed, flaky: [], seconds: 0 };
}

/** The newest commit that is older than the change, or the first of all. */
function baseOf(commit: string): string {
  const before = Number(git('show', '--no-patch', '--format=%ct', commit)) - CHANGE_SECONDS;
  const older = git('rev-list', '-1', `--before=${before}`, commit);
  return older || (git('rev-list', '--max-parents=0', commit).split('\n', 1)[0] as string);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
