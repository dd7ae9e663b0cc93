// One run of `longshore up` from source, with the times that it takes to be ready and to end.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { programArgv } from '../../engine/runtime/program-files.ts';
import { processesBelow } from '../support/longshore.ts';

/** What is run, and what it is given first. */
export type ProgramArgv = readonly [program: string, ...first: string[]];

export const FROM_SOURCE: ProgramArgv = programArgv();
const READY_MS = 5 * 60_000;

export class StartedUp implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #dir: string;
  /** From the start of the process until it said that it is ready. */
  readonly readySeconds: number;

  private constructor(child: ChildProcess, ended: Promise<unknown>, dir: string, readySeconds: number) {
    this.#child = child;
    this.#ended = ended;
    this.#dir = dir;
    this.readySeconds = readySeconds;
  }

  /** In a directory that is empty, or that an earlier run left. */
  static async start([program, ...first]: ProgramArgv, dir: string, portBase: number): Promise<StartedUp> {
    const begun = performance.now();
    const args = [...first, 'up', '--data', dir, '--port-base', String(portBase)];
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'close');
    const said: string[] = [];
    const lines = createInterface({ input: child.stderr, signal: AbortSignal.timeout(READY_MS) });
    for await (const line of lines) {
      said.push(line);
      if (!line.startsWith('ready')) continue;
      child.stderr.resume();
      return new StartedUp(child, ended, dir, (performance.now() - begun) / 1000);
    }
    throw new Error(`${program} did not get ready:\n${said.join('\n')}`);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Without a warning; what it started, such as its database server, goes on. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Seconds from SIGTERM to the end of the process. */
  async stop(): Promise<number> {
    const begun = performance.now();
    this.#child.kill('SIGTERM');
    await this.#ended;
    return (performance.now() - begun) / 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop();
    for (const pid of processesBelow(this.#dir)) process.kill(pid, 'SIGKILL');
  }
}

/** Gone when it is disposed. Others may pass through: Debian's initdb, which root runs as nobody, comes back to it by name. */
export async function emptyDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'longshore-bench-up-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
