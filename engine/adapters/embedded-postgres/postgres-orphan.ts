// Stops the server that a killed process left in a data directory: a whole one, or what is left of one whose first process was
// killed, too. Its backends notice that only between two steps of a statement. Until the last has ended, no other server starts.

import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { transient } from '../../runtime/failure.ts';
import { exists } from '../../runtime/files.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';

const STOP_MS = 15_000;
const LOOK_MS = 20;

/** @param begun called once the server has been told to stop */
export async function stopOrphan(
  data: string,
  begun: (() => void) | undefined,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const lock = join(data, 'postmaster.pid');
  const text = await readFile(lock, 'utf8').catch(() => undefined);
  // A server that was stopped has removed the file.
  if (text === undefined) return;
  const first = Number(text.split('\n')[0]);
  const left = await serversOf(data);
  if (left.length > 0) {
    log.warn({ orphan: first }, 'stopping the PostgreSQL server left running by a crashed process');
    await stopServers(data, first, left, begun, clock, signal);
  }
  // PostgreSQL would take whatever has that number for a server: one that ended and is not reaped yet, or any other program
  // after the machine or the container has started again.
  if (await exists(`/proc/${first}`)) await rm(lock, { force: true });
}

async function stopServers(
  data: string,
  first: number,
  found: readonly number[],
  begun: (() => void) | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let left = found;
  for (const signalName of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    // The first process stops the others. Without it nobody does, and what they have not committed is lost in any case.
    if (left.includes(first)) send(first, signalName);
    else for (const pid of left) send(pid, 'SIGKILL');
    begun?.();
    for (let waited = 0; waited < STOP_MS; waited += LOOK_MS) {
      left = await serversOf(data);
      if (left.length === 0) return;
      await clock.sleep(LOOK_MS, signal);
    }
  }
  throw transient(`the PostgreSQL server of ${data} cannot be stopped: ${left.join(', ')}`);
}

function send(pid: number, signalName: NodeJS.Signals): void {
  try {
    process.kill(pid, signalName);
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Running PostgreSQL processes whose working directory is this data directory. A shell in that directory does not count. */
export async function serversOf(data: string): Promise<readonly number[]> {
  const { dev, ino } = await stat(data);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const serves = async (pid: string): Promise<boolean> => {
    try {
      const there = await stat(await readlink(`/proc/${pid}/cwd`));
      if (there.dev !== dev || there.ino !== ino) return false;
      return /^\d+ \(postgres\) [^Z]/.test(await readFile(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return false; // gone, or another user's
    }
  };
  const found = await Promise.all(pids.map(serves));
  return pids.filter((_, n) => found[n]).map(Number);
}
