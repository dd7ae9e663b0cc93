// A program of the benchmark in a process of its own, so that nothing that the others have in memory or have compiled counts
// for it: a file here that sends `{port}` to its parent once it listens, and ends when its parent does.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';

const START_MS = 30_000;

export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Resolves when it listens. A program whose first argument is `ours…` has the product's runtime options, as in it. */
  static async start(file: string, ...args: readonly string[]): Promise<Program> {
    const execArgv = args[0]?.startsWith('ours') ? [...RUNTIME_OPTIONS] : [];
    const child = fork(join(import.meta.dirname, file), args, { execArgv });
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ${args} ended with ${code}`)));
    ended.catch(() => undefined);
    const said = once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
    const [{ port }] = (await Promise.race([said, ended])) as [{ readonly port: number }];
    return new Program(child, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** In the program: tells the parent where it listens. */
export function listensOn(port: number): void {
  process.once('disconnect', () => process.exit(0));
  process.send?.({ port });
}
