// A script as a process: what is seen of it while it runs, and how this process starts one by itself.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ScriptCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** In a process group of its own. */
export interface SpawnedScript {
  /** The error of one that could not be started; undefined once it runs. */
  readonly spawned: Promise<Error | undefined>;
  /** Rejects when it is not known any more how it ends. */
  readonly exit: Promise<Exit>;
  /** It has ended, and nobody holds its outputs any more. */
  readonly closed: Promise<void>;
  /** Of its group; 0 before it runs. */
  readonly pid: number;
  /** None when there were no descriptors left to make them. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
}

/**
 * Started by this process itself. The system copies the tables of the whole memory for that, which takes a large process
 * tens of milliseconds: see script-spawner.ts.
 */
export function spawnHere({ program, args, cwd, env }: ScriptCommand, input: 'pipe' | 'ignore'): SpawnedScript {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: [input, 'pipe', 'pipe'] });
  const [stdin, stdout, stderr] = (child as Partial<ChildProcess>).stdio ?? [];
  return {
    spawned: new Promise((resolve) => {
      child.once('spawn', () => resolve(undefined));
      child.once('error', resolve);
    }),
    exit: new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    }),
    closed: new Promise((resolve) => {
      child.once('close', () => resolve());
    }),
    get pid() {
      return child.pid ?? 0;
    },
    stdin: stdin ?? undefined,
    stdout: stdout ?? undefined,
    stderr: stderr ?? undefined,
  };
}
