// Queries the kernel about running processes: group members, processes with a run's variable, start times. Uses /proc; on other
// systems than Linux only the group itself can be queried.

import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** Set in the environment of every script to the run id. Children inherit it, even those that leave the group. */
export const RUN_VARIABLE = 'LONGSHORE_RUN';

interface ProcessFacts {
  readonly pid: number;
  readonly group: number;
  /** Clock ticks since boot; together with the pid it identifies a process uniquely. */
  readonly startTime: string;
}

/** Undefined when the process is gone or a zombie. */
export async function processFacts(pid: number): Promise<ProcessFacts | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  const { state, group, startTime } = parseStat(text ?? '');
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return { pid, group: Number(group), startTime };
}

/** Of a child that was just started and may have ended already. Blocks for a read from memory. */
export function startTimeNow(pid: number): string | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1')).startTime;
  } catch {
    return undefined;
  }
}

function parseStat(text: string): Readonly<Partial<Record<'state' | 'group' | 'startTime', string>>> {
  // The program's name in parentheses may contain anything, so fields are counted from the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', , group = ''] = fields;
  const startTime = fields[19];
  return { state, group, ...(startTime === undefined ? {} : { startTime }) };
}

/** True while the group has any member, including zombies. */
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

/** Living processes with the run's variable in their environment. @param among default: all processes */
export async function processesOfRun(runId: string, among?: readonly number[]): Promise<number[]> {
  const marked: number[] = [];
  for (const pid of among ?? (await allProcesses()))
    if ((await carries(pid, `${RUN_VARIABLE}=${runId}`)) && (await processFacts(pid))) marked.push(pid);
  return marked;
}

/** Maximum number of pids that are checked one by one. */
const FEW_PIDS = 256;

/**
 * Processes created after `pid`. Pids are assigned sequentially, so only few must be inspected, and /proc is listed only if there
 * are many. Correct only if the pids have not wrapped around in between, so use it only for runs of seconds. May include ids of
 * threads, whose facts are those of their processes.
 * @param known pids of processes that need not be inspected
 */
export async function processesAfter(pid: number, known: ReadonlySet<number>): Promise<number[]> {
  const newest = newestProcess();
  if (newest === pid) return [];
  if (newest === undefined) return allProcesses();
  if (newest > pid && newest - pid <= FEW_PIDS) {
    const found: number[] = [];
    // Each look takes microseconds: it reads no disk.
    for (let other = pid + 1; other <= newest; other++)
      if (!known.has(other) && existsSync(`/proc/${other}`)) found.push(other);
    return found;
  }
  const wrapped = newest < pid;
  return (await allProcesses()).filter((other) =>
    wrapped ? other > pid || other <= newest : other > pid && other <= newest,
  );
}

/** Signals a process, or a group if the number is negative. A process that is gone is ignored. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: ended in the meantime. EPERM: it changed its user, so we cannot signal it.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

async function carries(pid: number, entry: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(entry);
}

function newestProcess(): number | undefined {
  try {
    // Synchronous: one read from memory, on the path of every run.
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
