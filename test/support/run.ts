// Runs one suite under tap with one PostgreSQL server for all of it; the last line is `N passed, N failed`.
//   node test/support/run.ts [--suite unit|integration|matrix|e2e|contract|memory|binary|browser|stack|observability] [--results FILE] [FILE ..]
// Files are given their own databases on that server by support/database.ts.

import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Parser, type Result } from 'tap-parser';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres.ts';
import { silentLogger } from '../../engine/log.ts';
import { systemClock } from '../../engine/time.ts';
import { freePort } from './ports.ts';

const CONTRACT = 'test/e2e/contract-';
const MEMORY = 'test/e2e/memory';
/** Adapters and front ends on what they are made for: a real PostgreSQL, processes, files. */
const INTEGRATION = [
  'engine/adapters/',
  'http/access/',
  'http/handler/',
  'http/installer/',
  'http/plugin-host/',
  'http/report/',
].map((at) => `test/${at}`);
/** Everything that can go wrong, one by one: many runs of whole stories. */
const MATRIX = [
  ...['actors/crash', 'actors/reconciliation', 'actors/reconciler-', 'actors/rebuild'],
  ...['http/access/crash', 'http/access/crowd', 'http/access/patch-table'],
].map((at) => `test/${at}`);
interface Suite {
  /** Paths begin so. */
  readonly tests: readonly string[];
  readonly exclude: readonly string[];
  /** For one file, on a machine that is busy with others. */
  readonly timeoutSeconds: number;
  readonly jobs: number;
}
const SUITES: Readonly<Record<string, Suite>> = {
  unit: {
    tests: ['test/'],
    exclude: [
      'test/e2e/',
      'test/binary/',
      'test/browser/',
      'test/simulation/',
      'test/stack/',
      'test/observability/',
      ...INTEGRATION,
      ...MATRIX,
    ],
    timeoutSeconds: 120,
    jobs: 4,
  },
  integration: { tests: INTEGRATION, exclude: MATRIX, timeoutSeconds: 180, jobs: 4 },
  matrix: { tests: [...MATRIX, 'test/simulation/'], exclude: [], timeoutSeconds: 300, jobs: 2 },
  e2e: { tests: ['test/e2e/'], exclude: [CONTRACT, MEMORY], timeoutSeconds: 300, jobs: 1 },
  contract: { tests: [CONTRACT], exclude: [], timeoutSeconds: 300, jobs: 2 },
  memory: { tests: [MEMORY], exclude: [], timeoutSeconds: 900, jobs: 1 },
  stack: { tests: ['test/stack/'], exclude: [], timeoutSeconds: 600, jobs: 1 },
  observability: { tests: ['test/observability/'], exclude: [], timeoutSeconds: 120, jobs: 2 },
  // The executable, and what starts and stops it in all ways.
  binary: {
    tests: ['test/binary/', 'test/e2e/serve', 'test/e2e/up'],
    exclude: ['test/e2e/upload'],
    timeoutSeconds: 240,
    jobs: 1,
  },
  browser: { tests: ['test/browser/'], exclude: [], timeoutSeconds: 120, jobs: 1 },
};

/** What `--results` writes. */
export interface RunResult {
  readonly passed: number;
  readonly failed: number;
  /** Tests at the top of their files. A skipped one is not ok. */
  readonly tests: readonly { readonly file: string; readonly name: string; readonly ok: boolean }[];
}

const root = join(import.meta.dirname, '..', '..');
const { values, positionals } = parseArgs({
  options: { suite: { type: 'string', default: 'unit' }, results: { type: 'string' } },
  allowPositionals: true,
});
const suite = SUITES[values.suite];
if (!suite) {
  console.error(`unknown suite '${values.suite}'; one of: ${Object.keys(SUITES).join(', ')}`);
  process.exit(2);
}
process.exitCode = await main();

async function main(): Promise<number> {
  const tap = join(root, 'node_modules', '.bin', 'tap');
  // tap must be built once with the plug-in set of .taprc; it keeps the result in .tap/plugins.
  if (!existsSync(join(root, '.tap', 'plugins'))) await exitOf(tap, ['build'], 'ignore');

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
    const files = positionals.length > 0 ? named(positionals) : testFiles();
    return await runTap(tap, files, server.port);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function testFiles(): readonly string[] {
  return globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((file) => suite?.tests.some((start) => file.startsWith(start)))
    .filter((file) => !suite?.exclude.some((start) => file.startsWith(start)))
    .sort((a, b) => Number(isSlow(b)) - Number(isSlow(a)) || (a < b ? -1 : 1));
}

/** Files and folders; tap would pass over what is not there, and over folders. */
function named(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    const found = path.endsWith('.test.ts')
      ? globSync(path, { cwd: root })
      : globSync(`${path}/**/*.test.ts`, { cwd: root });
    if (found.length === 0) {
      console.error(`no test at '${path}'`);
      process.exit(2);
    }
    return found;
  });
}

/** Threads, databases and hostile archives take longest: begun last, they would keep one core busy alone. */
function isSlow(file: string): boolean {
  return /^test\/(engine|actors\/crash|http\/server)/.test(file);
}

async function runTap(tap: string, files: readonly string[], port: number): Promise<number> {
  const args = ['--disable-coverage', '--reporter=tap', `--timeout=${suite?.timeoutSeconds}`, `--jobs=${suite?.jobs}`];
  const child = spawn(tap, [...args, ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // tap starts files with the first `node` of the path: it must be the one that runs this.
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      // Every file is a process of its own; compiling the same sources again was most of its time.
      NODE_COMPILE_CACHE: join(root, '.tap', 'compile-cache'),
      LONGSHORE_TEST_POSTGRES: String(port),
      LONGSHORE_TEST_PASSWORD: 'longshore-tests',
    },
  });
  let passed = 0;
  let failed = 0;
  const tests: RunResult['tests'][number][] = [];
  const parser = new Parser();
  parser.on('child', (file) => {
    file.on('assert', ({ name, ok, skip, todo }: Result) =>
      tests.push({ file: file.name, name, ok: ok && !skip && !todo }),
    );
  });
  parser.on('skip', (result) => console.log(`SKIP ${result.fullname}: ${result.skip}`));
  parser.on('pass', () => passed++);
  parser.on('fail', (result) => {
    failed++;
    console.log(`FAIL ${result.fullname}\n${JSON.stringify(result.diag, null, 1)}`);
  });
  child.stdout.pipe(parser);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  if (passed + failed === 0 || (code !== 0 && failed === 0)) failed++;
  const result: RunResult = { passed, failed, tests };
  if (values.results !== undefined) await writeFile(values.results, JSON.stringify(result));
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function exitOf(program: string, args: readonly string[], stdio: 'ignore' | 'inherit'): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}
