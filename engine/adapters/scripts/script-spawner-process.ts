// The small process that starts scripts (script-spawner.ts): what it is told, and what it tells. It has nothing else in it,
// so to start a process takes it a millisecond; it ends as soon as whoever started it is gone.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../../runtime/failure.ts';
import { openForWriting } from './script-pipes.ts';

/** Starts a script in a process group of its own. */
export interface SpawnOrder {
  readonly id: number;
  /** Named pipes of its two outputs. Whoever asks reads them. */
  readonly stdout: string;
  readonly stderr: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Not needed any more, by somebody who goes on: the folder of the pipes is still theirs. */
export interface LeaveOrder {
  readonly id: 0;
}

export type SpawnReport =
  | { readonly id: 0; readonly kind: 'ready' }
  | { readonly id: number; readonly kind: 'spawned'; readonly pid: number }
  | { readonly id: number; readonly kind: 'failed'; readonly code: string | undefined; readonly message: string }
  | {
      readonly id: number;
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** Resolves when the other side is gone, and the folder of its pipes, which it may not have had the time to remove. */
export async function runSpawner(): Promise<void> {
  let folder: string | undefined;
  process.on('message', (order: SpawnOrder | LeaveOrder) => {
    folder = 'stdout' in order ? dirname(order.stdout) : undefined;
    if ('stdout' in order) void start(order).catch((error: unknown) => report(failed(order, error)));
  });
  report({ id: 0, kind: 'ready' });
  if (process.connected) await once(process, 'disconnect');
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

async function start({ id, program, args, cwd, env, stdout, stderr }: SpawnOrder): Promise<void> {
  const writers: number[] = [];
  try {
    for (const path of [stdout, stderr]) writers.push(await openForWriting(path));
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', ...writers] });
    child.once('exit', (code, signal) => report({ id, kind: 'exited', code, signal }));
    // Nobody is told of its end once the other side is gone.
    child.unref();
    await once(child, 'spawn');
    report({ id, kind: 'spawned', pid: child.pid ?? 0 });
  } finally {
    // The script has its own; as long as these are open, nobody would see that it has closed them.
    for (const writer of writers) closeSync(writer);
  }
}

const failed = ({ id }: SpawnOrder, error: unknown): SpawnReport => {
  const { code, message } = error as NodeJS.ErrnoException;
  // Without a pipe it could not be started just now; the program may well be there.
  return { id, kind: 'failed', code: error instanceof Failure ? 'EAGAIN' : code, message };
};

/** To nobody when it is gone. */
function report(what: SpawnReport): void {
  if (process.connected) process.send?.(what, () => undefined);
}
