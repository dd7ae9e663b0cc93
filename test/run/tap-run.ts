// Runs test files under tap and counts by file.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Parser, type Result } from 'tap-parser';
import { root } from './suites.ts';

/** What became of one test file. */
export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** Tests at the top of the file. A skipped one is not ok. */
  readonly tests: readonly { readonly name: string; readonly ok: boolean }[];
  /** Ready to print: every failure with its diagnostics. */
  readonly failures: readonly string[];
}

interface Order {
  readonly jobs: number;
  readonly timeoutSeconds: number;
  readonly env: Readonly<Record<string, string>>;
}

/** One result per file, in the order in which they ended. A file that did not report counts as one failure. */
export async function tapRun(files: readonly string[], { jobs, timeoutSeconds, env }: Order): Promise<FileResult[]> {
  const tap = join(root, 'node_modules', '.bin', 'tap');
  // tap must be built once with the plug-in set of .taprc; it keeps the result in .tap/plugins.
  if (!existsSync(join(root, '.tap', 'plugins'))) await exitOf(tap, ['build']);
  const args = ['--disable-coverage', '--reporter=tap', `--timeout=${timeoutSeconds}`, `--jobs=${jobs}`];
  const child = spawn(tap, [...args, ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // tap starts files with the first `node` of the path: it must be the one that runs this.
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      // Every file is a process of its own; compiling the same sources again was most of its time.
      NODE_COMPILE_CACHE: join(root, '.tap', 'compile-cache'),
      ...env,
    },
  });
  const counts = new FileCounts();
  child.stdout.pipe(counts.parser);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  const results = counts.results();
  const seen = new Set(results.map(({ file }) => file));
  const silent = files.filter((file) => !seen.has(file)).map((file) => didNotReport(file, code));
  const all = [...results, ...silent];
  if (code !== 0 && all.every(({ failed }) => failed === 0)) all.push(didNotReport('tap', code));
  return all;
}

function didNotReport(file: string, code: number): FileResult {
  return {
    file,
    passed: 0,
    failed: 1,
    seconds: 0,
    tests: [],
    failures: [`${file}: no result; tap exited with ${code}`],
  };
}

/** Sorts what tap prints by file. */
class FileCounts {
  readonly parser = new Parser();
  readonly #files = new Map<string, Counting>();

  constructor() {
    this.parser.on('child', (file) => {
      file.on('assert', ({ name, ok, skip, todo }: Result) =>
        this.#of(file.name).tests.push({ name, ok: ok && !skip && !todo }),
      );
    });
    this.parser.on('assert', ({ name, time }: Result) => {
      this.#of(name).seconds = (time ?? 0) / 1000;
    });
    this.parser.on('skip', (result) => console.log(`SKIP ${result.fullname}: ${result.skip}`));
    this.parser.on('pass', (result) => {
      this.#of(fileOf(result)).passed++;
    });
    this.parser.on('fail', (result) => {
      const file = this.#of(fileOf(result));
      file.failed++;
      file.failures.push(`${result.fullname}\n${JSON.stringify(result.diag, null, 1)}`);
    });
  }

  results(): FileResult[] {
    return [...this.#files.values()].filter(({ passed, failed, tests }) => passed + failed + tests.length > 0);
  }

  #of(file: string): Counting {
    const known = this.#files.get(file);
    if (known) return known;
    const counting: Counting = { file, passed: 0, failed: 0, seconds: 0, tests: [], failures: [] };
    this.#files.set(file, counting);
    return counting;
  }
}

/** A result that still grows. */
interface Counting {
  readonly file: string;
  passed: number;
  failed: number;
  seconds: number;
  readonly tests: { readonly name: string; readonly ok: boolean }[];
  readonly failures: string[];
}

/** The full name of a test begins with that of its file. */
function fileOf({ fullname }: Result): string {
  return fullname.split(' > ', 1)[0] as string;
}

function exitOf(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: 'ignore' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}
