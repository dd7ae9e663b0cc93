// Mutation testing: changes the product in small ways, one at a time, and counts which changes the tests notice.
//   node test/mutation/run.ts --area AREA[,AREA ..] [--sample N] [--seed S] [--workers W] [--budget SECONDS]
//        [--suites SUITE[,SUITE ..]] [--json FILE] [--at-least PERCENT]
//        .. --again FILE    the survivors of an earlier run's --json instead of a sample
//        .. --list          prints the mutants and runs nothing
//        .. --map           measures what the test files run of the area, and ends

import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { SUITES } from '../run/suites.ts';
import { freePort } from '../support/ports.ts';
import { filesOf } from './areas.ts';
import { CoverageMap } from './coverage-map.ts';
import { type Equivalent, Equivalents, entryOf } from './equivalents.ts';
import { importGraph } from './import-graph.ts';
import { type Mutant, mutantsOf, mutated } from './mutants.ts';
import { Run } from './mutation-run.ts';
import { sample } from './sample.ts';
import { described, type Judged, score, survivors, table } from './score.ts';
import { Selection } from './selection.ts';
import { parses } from './syntax.ts';
import { Tree } from './tree.ts';

const { values } = parseArgs({
  options: {
    area: { type: 'string', default: 'all' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    // What takes seconds. Others start the whole program, a browser, other servers.
    suites: { type: 'string', default: 'unit,integration,matrix' },
    budget: { type: 'string', default: '120' },
    json: { type: 'string' },
    again: { type: 'string' },
    list: { type: 'boolean', default: false },
    map: { type: 'boolean', default: false },
    'at-least': { type: 'string' },
  },
});
const tree = new Tree(join(import.meta.dirname, '..', '..'));
const stop = new AbortController();
process.exitCode = await main().catch((error: unknown) => {
  if (!stop.signal.aborted) throw error;
  console.error('ended by a signal');
  return 130;
});

async function main(): Promise<number> {
  const seed = wholeNumber('seed', values.seed);
  const commit = tree.commit();
  console.error(`seed ${seed}, commit ${commit}`);
  const equivalents = readEquivalents();
  const all = chosenFiles().flatMap(mutants);
  const chosen =
    values.again === undefined
      ? sample(all, values.sample === undefined ? all.length : wholeNumber('sample', values.sample), seed, isSound)
      : again(all, values.again);
  console.error(`${chosen.length} of ${all.length} mutants`);
  if (values.list) {
    for (const mutant of chosen) console.log(described(mutant));
    return 0;
  }
  if (values.map) {
    await running(equivalents, (run, signal) => run.measure(chosenFiles(), signal));
    return 0;
  }
  const judged = await running(equivalents, (run, signal) => run.judgeAll(chosen, signal));
  for (const line of [`seed ${seed}, commit ${commit}`, ...table(judged), ...survivors(judged)]) console.log(line);
  for (const { file, line, kind } of equivalents.stale(equivalents.files.filter(isThere).flatMap(mutants)))
    console.log(`no longer there, but in equivalent.json: ${file} ${kind}: ${line}`);
  if (values.json !== undefined) await writeFile(values.json, report(judged, seed, commit));
  return score(judged) < Number(values['at-least'] ?? 0) ? 1 : 0;
}

/** With copies of the tree and a PostgreSQL; they are gone when `work` is done or a signal ended it. */
async function running<Result>(
  equivalents: Equivalents,
  work: (run: Run, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-mutation-'));
  // Some tests go on as another user.
  await chmod(dir, 0o755);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  try {
    const password = 'longshore-tests';
    await using server = await startEmbeddedPostgres(
      { dir, port: await freePort(), password, maxConnections: 200, unsafeFast: true },
      systemClock,
      silentLogger(),
      stop.signal,
    );
    const map = new CoverageMap(join(tree.root, '.tap', 'mutation-coverage.json'), textOrNone);
    const selection = new Selection(tree.tests(suites()), importGraph(tree.code));
    await using run = await Run.start({
      ...{ tree, map, selection, equivalents, dir },
      ...{ server: { port: server.port, password }, workers: wholeNumber('workers', values.workers) },
      budgetMs: wholeNumber('budget', values.budget) * 1000,
      progress: (line) => console.error(line),
    });
    return await work(run, stop.signal);
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

function chosenFiles(): readonly string[] {
  try {
    return filesOf(values.area, tree.sources);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return usage(error.message);
  }
}

function suites(): readonly string[] {
  const names = values.suites.split(',');
  for (const name of names) if (!(name in SUITES)) usage(`unknown suite '${name}'; ${Object.keys(SUITES).join(', ')}`);
  return names;
}

function mutants(file: string): readonly Mutant[] {
  return mutantsOf(file, tree.textOf(file));
}

function isThere(file: string): boolean {
  return tree.files.includes(file);
}

function textOrNone(file: string): string | undefined {
  return isThere(file) ? tree.textOf(file) : undefined;
}

/** Some changes are no program: two signs that become one, say. */
function isSound(mutant: Mutant): boolean {
  return parses(mutated(tree.textOf(mutant.file), mutant));
}

function readEquivalents(): Equivalents {
  const entries: readonly Equivalent[] = JSON.parse(readFileSync(join(import.meta.dirname, 'equivalent.json'), 'utf8'));
  return new Equivalents(entries);
}

/** What survived in an earlier run, as far as it is still there. */
function again(all: readonly Mutant[], file: string): readonly Mutant[] {
  const { mutants: earlier }: Report = JSON.parse(readFileSync(file, 'utf8'));
  const left = earlier.filter(({ verdict }) => verdict === 'survived' || verdict === 'not covered');
  const keys = new Set(left.map(({ key }) => JSON.stringify(key)));
  return all.filter((mutant) => keys.has(JSON.stringify(entryOf(mutant))));
}

interface Report {
  readonly mutants: readonly { readonly key: Omit<Equivalent, 'reason'>; readonly verdict: string }[];
}

function report(judged: readonly Judged[], seed: number, commit: string): string {
  const rows = judged.map(({ mutant, verdict: { kind: verdict, ...more } }) => ({
    ...{ at: `${mutant.file}:${mutant.line}`, verdict, ...more, key: entryOf(mutant) },
  }));
  return `${JSON.stringify({ seed, commit, area: values.area, score: score(judged), mutants: rows }, null, 1)}\n`;
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : usage(`--${name} is a whole number, not '${text}'`);
}

function usage(message: string): never {
  console.error(message);
  process.exit(2);
}
