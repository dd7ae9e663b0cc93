// The small process that starts scripts (script-spawner.ts): what it is told, and what it tells. It has nothing else in it,
// so to start a process takes it a millisecond; it ends as soon as whoever started it is gone.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';

/** Starts a script in a process group of its own. */
export interface SpawnOrder {
  readonly id: number;
  /** Where its two outputs are taken, each after a line `{id} out` or `{id} err`. */
  readonly socket: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
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

/** Resolves when the other side is gone, and the folder of its socket, which it may not have had the time to remove. */
export async function runSpawner(): Promise<void> {
  let folder: string | undefined;
  process.on('message', (order: SpawnOrder) => {
    folder = dirname(order.socket);
    void start(order).catch((error: unknown) => report(failed(order, error)));
  });
  report({ id: 0, kind: 'ready' });
  if (process.connected) await once(process, 'disconnect');
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

async function start(order: SpawnOrder): Promise<void> {
  const { id, program, args, cwd, env } = order;
  const outputs = await Promise.all([output(order, 'out'), output(order, 'err')]);
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', ...outputs] });
    child.once('exit', (code, signal) => report({ id, kind: 'exited', code, signal }));
    // Nobody is told of its end once the other side is gone.
    child.unref();
    await once(child, 'spawn');
    report({ id, kind: 'spawned', pid: child.pid ?? 0 });
  } finally {
    // The script has its own; as long as these are open, nobody would see that it has closed them.
    for (const socket of outputs) socket.destroy();
  }
}

async function output({ id, socket: path }: SpawnOrder, which: 'out' | 'err'): Promise<Socket> {
  const socket = connect({ path });
  await once(socket, 'connect');
  await new Promise<void>((resolve, reject) => {
    socket.write(`${id} ${which}\n`, (error) => (error ? reject(error) : resolve()));
  });
  socket.on('error', () => undefined);
  return socket;
}

const failed = ({ id }: SpawnOrder, error: unknown): SpawnReport => {
  const { code, message } = error as NodeJS.ErrnoException;
  return { id, kind: 'failed', code, message };
};

/** To nobody when it is gone. */
function report(what: SpawnReport): void {
  if (process.connected) process.send?.(what, () => undefined);
}
