// The process that spawns scripts (script-spawner.ts), and its messages. It loads nothing else, so spawning takes it a
// millisecond. It exits as soon as its parent is gone.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../../runtime/failure.ts';
import { startTimeNow } from './process-facts.ts';
import { openForWriting } from './script-pipes.ts';

/** Starts a script in its own process group. */
export interface SpawnOrder {
  readonly id: number;
  /** Named pipes for the two outputs. The sender reads them. Their names are removed. Empty: the outputs are discarded. */
  readonly outputs: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Tells the process to exit without removing the folder of the pipes, which its parent still uses. */
export interface LeaveOrder {
  readonly id: 0;
}

export type SpawnReport =
  | { readonly id: 0; readonly kind: 'ready' }
  | { readonly id: number; readonly kind: 'spawned'; readonly pid: number; readonly startTime: string | undefined }
  | { readonly id: number; readonly kind: 'failed'; readonly code: string | undefined; readonly message: string }
  | {
      readonly id: number;
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** Resolves when the parent is gone. Removes the folder of its pipes, which the parent may not have had time to do. */
export async function runSpawner(): Promise<void> {
  let folder: string | undefined;
  process.on('message', (order: SpawnOrder | LeaveOrder) => {
    if (!('program' in order)) {
      folder = undefined;
      return;
    }
    const [output] = order.outputs;
    if (output !== undefined) folder = dirname(output);
    void start(order).catch((error: unknown) => report(failed(order, error)));
  });
  report({ id: 0, kind: 'ready' });
  if (process.connected) await once(process, 'disconnect');
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

async function start({ id, program, args, cwd, env, outputs }: SpawnOrder): Promise<void> {
  const writers: number[] = [];
  try {
    // Blocking calls: nothing else waits for this process, and the sender has opened the pipes for reading.
    for (const path of outputs) {
      writers.push(openForWriting(path));
      unlinkSync(path);
    }
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: writers.length > 0 ? ['ignore', ...writers] : 'ignore',
    });
    child.once('exit', (code, signal) => report({ id, kind: 'exited', code, signal }));
    // Once the parent is gone, the end of the script is not reported.
    child.unref();
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    report({ id, kind: 'spawned', pid, startTime: startTimeNow(pid) });
  } finally {
    // The script has its own descriptors. While these are open, nobody would notice that it closed them.
    for (const writer of writers) closeSync(writer);
  }
}

const failed = ({ id }: SpawnOrder, error: unknown): SpawnReport => {
  const { code, message } = error as NodeJS.ErrnoException;
  // Without a pipe the script could not be started now, but the program may well exist.
  return { id, kind: 'failed', code: error instanceof Failure ? 'EAGAIN' : code, message };
};

/** Does nothing when the parent is gone. */
function report(what: SpawnReport): void {
  if (process.connected) process.send?.(what, () => undefined);
}
