// What the kernel says about running processes: who is in a group, who carries a run's variable, who started when.
// Read from /proc; where there is none (not Linux) only the group itself can be asked.

import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** Set in the environment of every script; its value is the run id. Children inherit it, even those that leave the group. */
export const RUN_VARIABLE = 'LONGSHORE_RUN';

export interface ProcessFacts {
  readonly pid: number;
  readonly group: number;
  /** Clock ticks since boot; with the pid it names one process for ever. */
  readonly startTime: string;
}

/** The process, or undefined when it is gone or a zombie that only waits to be collected. */
export async function processFacts(pid: number): Promise<ProcessFacts | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (text === undefined) return undefined;
  // The program's name stands in parentheses and may hold anything, so fields are counted from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group] = fields;
  const startTime = fields[19];
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return { pid, group: Number(group), startTime };
}

/** True while the group has any member, zombies included. */
export function groupExists(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Living members of the group. */
export async function groupMembers(group: number): Promise<number[]> {
  if (!groupExists(group)) return [];
  const members: number[] = [];
  for (const pid of await allProcesses()) if ((await processFacts(pid))?.group === group) members.push(pid);
  return members;
}

/** Living processes whose environment says that they belong to the run; `among` defaults to all. */
export async function processesOfRun(runId: string, among?: readonly number[]): Promise<number[]> {
  const marked: number[] = [];
  for (const pid of among ?? (await allProcesses()))
    if ((await carries(pid, `${RUN_VARIABLE}=${runId}`)) && (await processFacts(pid))) marked.push(pid);
  return marked;
}

/**
 * Processes made after `pid`: pids are given out in turn, so that few of them need a look. Sound as long as the turn
 * did not come round in between, so only for runs of seconds.
 */
export async function processesAfter(pid: number): Promise<number[]> {
  const newest = newestProcess();
  if (newest === pid) return [];
  if (newest === undefined) return allProcesses();
  const wrapped = newest < pid;
  return (await allProcesses()).filter((other) =>
    wrapped ? other > pid || other <= newest : other > pid && other <= newest,
  );
}

/** Signals a process, or with a negative number a group; one that is gone is fine. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: ended meanwhile. EPERM: it changed its user; nothing we could do about it.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

async function carries(pid: number, entry: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(entry);
}

function newestProcess(): number | undefined {
  try {
    // Synchronous: one read of memory, on the path of every run.
    const newest = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1));
    return Number.isSafeInteger(newest) ? newest : undefined;
  } catch {
    return undefined;
  }
}

async function allProcesses(): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  return names.filter((name) => /^[0-9]+$/.test(name)).map(Number);
}
