// Runs one suite under tap with one PostgreSQL server for all of it; the last line is `N passed, N failed`.
//   node test/run/suite.ts [--suite NAME] [--results FILE] [--times] [--sample N --seed S] [FILE ..]
// `--sample N` keeps about one in N rows of the matrices, chosen by the seed (../support/sampled.ts).
// Files are given their own databases on that server by ../support/database.ts.

import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { MOST_FLAKY, secondChance } from './second-chance.ts';
import { filesOf, root, SUITES } from './suites.ts';
import { type FileResult, tapRun } from './tap-run.ts';

/** What `--results` writes. */
export interface RunResult {
  readonly passed: number;
  readonly failed: number;
  /** Tests at the top of their files. A skipped one is not ok. */
  readonly tests: readonly { readonly file: string; readonly name: string; readonly ok: boolean }[];
}

const { values, positionals } = parseArgs({
  options: {
    suite: { type: 'string', default: 'unit' },
    results: { type: 'string' },
    times: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const suite =
  SUITES[values.suite] ?? usage(`unknown suite '${values.suite}'; one of: ${Object.keys(SUITES).join(', ')}`);
for (const name of ['sample', 'seed'] as const)
  if (values[name] !== undefined && !/^[1-9][0-9]{0,9}$/.test(values[name]))
    usage(`--${name} must be a whole number from 1, not '${values[name]}'`);
// Before anything is started: what is wrong with the command line ends the process at once.
const files = positionals.length > 0 ? named(positionals) : filesOf(suite);
process.exitCode = await main();

async function main(): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  try {
    await using server = await startEmbeddedPostgres(
      { dir, port: await freePort(), password: 'longshore-tests', maxConnections: 200, unsafeFast: true },
      systemClock,
      silentLogger(),
      stop.signal,
    );
    const env: Record<string, string> = {
      LONGSHORE_TEST_POSTGRES: String(server.port),
      LONGSHORE_TEST_PASSWORD: 'longshore-tests',
      ...(values.sample !== undefined && { LONGSHORE_TEST_SAMPLE: values.sample, LONGSHORE_TEST_SEED: values.seed }),
    };
    const order = { jobs: suite.jobs, timeoutSeconds: suite.timeoutSeconds, env };
    const first = await tapRun(files, order);
    return await report(await secondChance(first, (file) => tapRun([file], { ...order, jobs: 1 })));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function report({ results, flaky }: Awaited<ReturnType<typeof secondChance>>): Promise<number> {
  if (values.times) for (const line of slowest(results)) console.log(line);
  for (const { failures } of results) for (const failure of failures) console.log(`FAIL ${failure}`);
  for (const { file, failures } of flaky) console.log(`flaky: ${file}\n${failures.join('\n').replace(/^/gm, '  ')}`);
  const tooMany = flaky.length > MOST_FLAKY;
  if (tooMany) console.log(`FAIL ${flaky.length} files passed only when run again; at most ${MOST_FLAKY} may`);
  const passed = sum(results.map((file) => file.passed));
  const failed = sum(results.map((file) => file.failed)) + Number(tooMany);
  const tests = results.flatMap(({ file, tests }) => tests.map((test) => ({ file, ...test })));
  const result: RunResult = { passed, failed, tests };
  if (values.results !== undefined) await writeFile(values.results, JSON.stringify(result));
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

function slowest(results: readonly FileResult[]): readonly string[] {
  return [...results]
    .sort((a, b) => b.seconds - a.seconds)
    .map(({ file, seconds }) => `${seconds.toFixed(1)} s ${file}`);
}

/** Files and folders; tap would pass over what is not there, and over folders. */
function named(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    const found = globSync(path.endsWith('.test.ts') ? path : `${path}/**/*.test.ts`, { cwd: root });
    return found.length > 0 ? found : usage(`no test at '${path}'`);
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function usage(message: string): never {
  console.error(message);
  process.exit(2);
}
