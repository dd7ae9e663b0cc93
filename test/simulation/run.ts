// The simulation suite: many seeds on all cores; the last line is `N passed, N failed`.
//   node test/simulation/run.ts [--seeds N] [--from S] [--workers W]   simulates seeds S, S+1 ..
//        .. --bug BUG                  with a bug planted (bugs.ts): ends at the first seed that finds it
//        .. --seeds 1 --from S --trace prints everything that happens
//        .. --planted                  every recorded seed (planted.ts) finds its bug, and finds nothing without it
//        .. --record                   looks for those seeds anew

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../engine/runtime/time.ts';
import { BUGS, type Bug, isBug } from './bugs.ts';
import { PLANTED } from './planted.ts';
import { printFailure, Tally } from './report.ts';
import { simulateAll } from './seeds.ts';
import { type SimulationResult, simulate } from './simulate.ts';

/** Seeds among which a planted bug has to be found. */
const RECORD_SEEDS = 6_000;
/** Failing seeds that are printed in full. */
const PRINTED = 5;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string' },
    bug: { type: 'string' },
    trace: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});
const seeds = wholeNumber('seeds', values.seeds);
const from = wholeNumber('from', values.from);
const workers = values.workers === undefined ? undefined : wholeNumber('workers', values.workers);
if (values.bug !== undefined && !isBug(values.bug)) usage(`unknown bug '${values.bug}'; one of: ${BUGS.join(', ')}`);
const bug = values.bug as Bug | undefined;
process.exitCode = await main();

async function main(): Promise<number> {
  if (values.record) return record();
  if (values.planted) return checkPlanted();
  return values.trace ? traceSeeds() : simulateSeeds();
}

async function simulateSeeds(): Promise<number> {
  const tally = new Tally(() => systemClock.now());
  await simulateAll(
    ordersOf(seeds),
    (result) => {
      tally.add(result);
      if (result.violations.length > 0 && tally.failed <= PRINTED) printFailure(result, bug);
      return bug === undefined || tally.failed === 0;
    },
    workers,
  );
  tally.print();
  return close(tally.passed, tally.failed);
}

/** In this process, so that its steps can be followed. */
async function traceSeeds(): Promise<number> {
  let failed = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const result = await simulate({ seed, bug, print: true });
    console.log(`seed ${seed}: ${result.steps} steps, trace ${result.digest}`);
    if (result.violations.length === 0) continue;
    failed++;
    for (const violation of result.violations) console.log(`  ${violation}`);
  }
  return close(seeds - failed, failed);
}

async function checkPlanted(): Promise<number> {
  let passed = 0;
  for (const planted of BUGS) {
    const seed = await findingSeed(planted);
    const found = seed === undefined ? [] : (await simulate({ seed, bug: planted })).violations;
    const clean = seed === undefined ? [] : (await simulate({ seed })).violations;
    const good = found.length > 0 && clean.length === 0;
    if (good) passed++;
    console.log(`${good ? 'ok' : 'FAIL'} ${planted} at seed ${seed}: ${found[0] ?? 'no seed finds it'}`);
    for (const violation of clean) console.log(`  and without it: ${violation}`);
  }
  return close(passed, BUGS.length - passed);
}

/** The recorded one, unless the product has changed so much that another one finds the bug now. */
async function findingSeed(planted: Bug): Promise<number | undefined> {
  const recorded = PLANTED[planted];
  if ((await simulate({ seed: recorded, bug: planted })).violations.length > 0) return recorded;
  console.log(`${planted}: seed ${recorded} does not find it any more; looking for one that does (--record keeps it)`);
  return firstFinding(planted);
}

async function record(): Promise<number> {
  const firsts: [Bug, number][] = [];
  for (const planted of BUGS) {
    const seed = await firstFinding(planted);
    console.log(seed === undefined ? `FAIL no seed finds ${planted}` : `${planted}: seed ${seed}`);
    if (seed !== undefined) firsts.push([planted, seed]);
  }
  const found = Object.fromEntries(firsts);
  const lines = BUGS.map((planted) => `  ${/-/.test(planted) ? `'${planted}'` : planted}: ${found[planted]},`);
  const head = [
    '// The first seed that finds each planted bug. Written by `npm run test:simulation -- --record`: when the simulation changes,',
    '// other seeds find them.',
    '',
    "import type { Bug } from './bugs.ts';",
    '',
    'export const PLANTED: Readonly<Record<Bug, number>> = {',
  ];
  if (firsts.length === BUGS.length)
    await writeFile(join(import.meta.dirname, 'planted.ts'), `${[...head, ...lines, '};'].join('\n')}\n`);
  return close(firsts.length, BUGS.length - firsts.length);
}

/** The lowest seed that finds the bug: those begun before the first report of it may be lower. */
async function firstFinding(planted: Bug): Promise<number | undefined> {
  let first: number | undefined;
  const orders = Array.from({ length: RECORD_SEEDS }, (_, i) => ({ seed: i + 1, bug: planted }));
  const hear = ({ seed, violations }: SimulationResult): boolean => {
    if (violations.length > 0) first = Math.min(first ?? seed, seed);
    return first === undefined;
  };
  await simulateAll(orders, hear, workers);
  return first;
}

function* ordersOf(count: number): Generator<{ readonly seed: number; readonly bug: Bug | undefined }> {
  for (let seed = from; seed < from + count; seed++) yield { seed, bug };
}

function close(passed: number, failed: number): number {
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  return usage(`--${name} must be a whole number from 1, not '${text}'`);
}

function usage(message: string): never {
  console.error(message);
  process.exit(2);
}
