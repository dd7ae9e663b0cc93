// A copy of the tree in which one worker mutates and runs tests: the checkout stays as it is, however this ends.

import { chmod, cp, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTestFile, type TestRun } from './test-run.ts';
import type { Tree } from './tree.ts';

export interface Server {
  readonly port: number;
  readonly password: string;
}

export class WorkingCopy {
  /** Begins the names of the databases that tests make in this copy (support/database.ts). */
  readonly label: string;
  readonly #folder: string;
  readonly #server: Server;

  private constructor(folder: string, label: string, server: Server) {
    this.#folder = folder;
    this.label = label;
    this.#server = server;
  }

  /** `folder` is not there yet. */
  static async make(tree: Tree, folder: string, label: string, server: Server): Promise<WorkingCopy> {
    const copy = new WorkingCopy(folder, label, server);
    for (const file of tree.files) {
      await mkdir(dirname(copy.pathOf(file)), { recursive: true });
      await cp(join(tree.root, file), copy.pathOf(file), { verbatimSymlinks: true });
    }
    await symlink(join(tree.root, 'node_modules'), copy.pathOf('node_modules'));
    return copy;
  }

  pathOf(file: string): string {
    return join(this.#folder, 'tree', file);
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(this.pathOf(file), text);
  }

  /** Runs a test file until its first failure. `coverage` is a folder for V8's reports. */
  async run(file: string, limitMs: number, signal: AbortSignal, coverage?: string): Promise<TestRun> {
    const temporary = join(this.#folder, 'tmp');
    await mkdir(temporary, { recursive: true });
    // As the system's own: for every user.
    await chmod(temporary, 0o1777);
    const { NODE_V8_COVERAGE: _, NODE_OPTIONS: __, ...inherited } = process.env;
    const env = {
      ...inherited,
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      TMPDIR: temporary,
      TAP_BAIL: '1',
      TAP_TIMEOUT: String(Math.ceil(limitMs / 1000) + 60),
      LONGSHORE_TEST_POSTGRES: String(this.#server.port),
      LONGSHORE_TEST_PASSWORD: this.#server.password,
      LONGSHORE_TEST_LABEL: this.label,
      // What comes out of the cache is measured by function only.
      ...(coverage === undefined
        ? { NODE_COMPILE_CACHE: join(this.#folder, 'compile-cache') }
        : { NODE_V8_COVERAGE: coverage }),
    };
    const run = await runTestFile({ file, cwd: this.pathOf('.'), env, limitMs }, signal);
    if (run.end !== 'passed') await endThoseIn(this.#folder);
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
    return run;
  }
}

/** Ends processes that a test left when it was cut short: those that work in the folder or were told of it. */
async function endThoseIn(folder: string): Promise<void> {
  if (process.platform !== 'linux') return;
  for (const pid of (await readdir('/proc')).map(Number).filter((pid) => pid > 1 && pid !== process.pid)) {
    const at = `/proc/${pid}`;
    const cwd = await readlink(`${at}/cwd`).catch(() => '');
    const told = await readFile(`${at}/cmdline`, 'utf8').catch(() => '');
    if (cwd.startsWith(`${folder}/`) || told.includes(`${folder}/`)) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
