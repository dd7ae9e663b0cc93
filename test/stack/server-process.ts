// A server program of the stack as a child of the test: started in a directory and on ports of its own, waited for until it
// listens there, paused and continued as if it hung, ended by pid with everything that it started.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { listens } from './listeners.ts';

const START_MS = 120_000;
const LOOK_MS = 50;
const STOP_MS = 10_000;

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it writes goes here. */
  readonly log: string;
  /** It is ready when it listens on all of them. Another server on one of them is not taken for it. */
  readonly ports?: readonly number[];
  /** Resolves with true once it answers, where listening does not say enough. */
  readonly ready?: () => Promise<boolean>;
}

/** A test that breaks before its teardown leaves none of them behind. */
const running = new Set<ServerProcess>();
process.on('exit', () => {
  for (const server of running) server.signal('SIGKILL');
});

export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  static async start({
    program,
    args,
    env,
    log,
    ports = [],
    ready = async () => true,
  }: ServerCommand): Promise<ServerProcess> {
    mkdirSync(dirname(log), { recursive: true });
    const output = openSync(log, 'a');
    // A group of its own: what it forks ends with it.
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', output, output],
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', ...env },
    });
    const server = new ServerProcess(child);
    const failed = once(child, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => undefined);
    const isReady = async (): Promise<boolean> =>
      ports.every((port) => child.pid !== undefined && listens(child.pid, port)) && (await ready());
    for (const begun = Date.now(); !(await Promise.race([isReady(), failed])); ) {
      const why =
        child.exitCode !== null || child.signalCode !== null
          ? 'ended'
          : Date.now() - begun > START_MS
            ? `did not answer within ${START_MS} ms`
            : undefined;
      if (why !== undefined) {
        await server[Symbol.asyncDispose]();
        throw new Error(`${program} ${why}: ${readFileSync(log, 'utf8').slice(-4_000)}`);
      }
      await setTimeout(LOOK_MS);
    }
    return server;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#closed = once(child, 'close').catch(() => undefined);
    running.add(this);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('not started');
    return this.#child.pid;
  }

  /** To the whole group. */
  signal(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Hangs: connections stay open and nothing is answered. */
  pause(): void {
    this.signal('SIGSTOP');
  }

  continue(): void {
    this.signal('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    const late = new AbortController();
    const isLate = setTimeout(STOP_MS, true, { signal: late.signal }).catch(() => false);
    if (await Promise.race([this.#closed.then(() => false), isLate])) this.signal('SIGKILL');
    late.abort();
    await this.#closed;
    // What of the group outlived its leader.
    this.signal('SIGKILL');
    running.delete(this);
  }
}
