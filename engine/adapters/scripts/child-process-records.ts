// Records which scripts run. After a kill -9, the next start kills the scripts that were left behind before their jobs are
// retried (docs/design/decisions.md#script-runner). There is one file per service process, `{pid}-{startTime}-{random}.runs`,
// with one slot of fixed width per concurrent script. A run costs two small writes instead of a file.
//
// A slot:  free --expect (run id)--> expected --started (group)--> running --free--> free

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';

const SLOT_BYTES = 256;
const GONE_MS = 5_000;

interface ScriptRecord {
  readonly runId: string;
  /** Undefined until the script was started: until then only its environment variable identifies it. */
  readonly group?: { readonly pgid: number; readonly startTime: string | undefined };
}

export class ScriptRecords implements AsyncDisposable {
  readonly #dir: string;
  readonly #freeSlots: number[] = [];
  #slots = 0;
  #file: Promise<OpenFile> | undefined;

  constructor(stateDir: string) {
    this.#dir = stateDir;
  }

  /** Call it before the script starts, so that the script is recorded at all times. */
  async expect(runId: string): Promise<RunRecord> {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(runId))
      throw new Failure('defect', `run id '${runId}' must be 1 to 128 characters of A-Z a-z 0-9 _ -`);
    const { handle } = await this.#open();
    const slot = this.#freeSlots.pop() ?? this.#slots++;
    const freed = (): void => void this.#freeSlots.push(slot);
    const record = new RunRecord(runId, handle, slot * SLOT_BYTES, freed);
    try {
      await record.write({ runId });
    } catch (error) {
      freed();
      throw notRecorded(runId, error);
    }
    return record;
  }

  /** Retries after a failure: a disk that was full for a while must not fail all later runs. */
  async #open(): Promise<OpenFile> {
    const file = this.#file ?? openFile(this.#dir);
    this.#file = file;
    try {
      return await file;
    } catch (error) {
      if (this.#file === file) this.#file = undefined;
      throw notRecorded(this.#dir, error);
    }
  }

  /** Call it after the last run has ended. Processes that could not be killed stay on record. */
  async [Symbol.asyncDispose](): Promise<void> {
    const file = await this.#file?.catch(() => undefined);
    this.#file = undefined;
    await file?.handle.close();
    if (file && this.#freeSlots.length === this.#slots) await rm(file.path, { force: true });
  }
}

/** The record of one run. */
export class RunRecord {
  readonly #runId: string;
  readonly #file: FileHandle;
  readonly #position: number;
  readonly #freed: () => void;

  constructor(runId: string, file: FileHandle, position: number, freed: () => void) {
    this.#runId = runId;
    this.#file = file;
    this.#position = position;
    this.#freed = freed;
  }

  async started(pgid: number): Promise<void> {
    await this.write({ runId: this.#runId, group: { pgid, startTime: (await processFacts(pgid))?.startTime } });
  }

  /** Call it when the script and all processes that it started have ended. */
  async free(): Promise<void> {
    await this.write(undefined);
    this.#freed();
  }

  async write(record: ScriptRecord | undefined): Promise<void> {
    const text = record ? JSON.stringify(record) : '';
    await this.#file.write(`${text.padEnd(SLOT_BYTES - 1)}\n`, this.#position);
  }
}

/**
 * Kills what scripts of an earlier process left running: recorded groups whose leader still has the recorded start time, and
 * every process with a recorded run's variable. Returns the number of processes killed. Call it before any job runs.
 */
export async function endLeftoverScripts(stateDir: string, log: Logger, clock: Clock): Promise<number> {
  let killed = 0;
  for (const file of await readdir(stateDir).catch(() => [])) {
    const owner = /^([0-9]+)-([0-9]*)-[0-9a-f]+\.runs$/.exec(file);
    if (!owner || (await processFacts(Number(owner[1])))?.startTime === owner[2]) continue;
    const path = join(stateDir, file);
    for (const record of await readRecords(path)) {
      const pids = await leftovers(record);
      if (pids.length > 0) log.warn({ run: record.runId, pids }, 'killing a script left running by a crashed process');
      killed += pids.length;
      await endProcesses(() => leftovers(record), clock);
    }
    await rm(path, { force: true });
  }
  return killed;
}

/** Kills what `find` returns until it finds nothing, because processes may fork in the meantime. */
export async function endProcesses(find: () => Promise<readonly number[]>, clock: Clock): Promise<void> {
  const until = clock.now() + GONE_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const pids = await find();
    if (pids.length === 0) return;
    if (clock.now() > until)
      throw new Failure('transient', `processes ${pids.join(', ')} of a script do not terminate even after SIGKILL`);
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    await clock.sleep(pause);
  }
}

async function leftovers({ runId, group }: ScriptRecord): Promise<number[]> {
  const marked = await processesOfRun(runId);
  if (group?.startTime === undefined) return marked;
  const leader = await processFacts(group.pgid);
  // Without its leader a group cannot be told from a later one with the same number, so only the variable counts.
  const members = leader?.startTime === group.startTime ? await groupMembers(group.pgid) : [];
  return [...new Set([...members, ...marked])];
}

const notRecorded = (what: string, cause: unknown): Failure =>
  new Failure('transient', `script run ${what} could not be recorded: ${messageOf(cause)}`, { cause });

interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
}

async function openFile(dir: string): Promise<OpenFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const owner = `${process.pid}-${(await processFacts(process.pid))?.startTime ?? ''}`;
  // Random, because a process may have several runners on one folder.
  const path = join(dir, `${owner}-${randomBytes(4).toString('hex')}.runs`);
  return { path, handle: await open(path, 'wx', 0o600) };
}

async function readRecords(path: string): Promise<ScriptRecord[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as ScriptRecord];
    } catch {
      return []; // truncated by a crash during the write: that script was never started
    }
  });
}

// Queries the kernel about running processes: group members, processes with a run's variable, start times. Uses /proc; on other
// systems than Linux only the group itself can be queried.

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
  if (text === undefined) return undefined;
  // The program's name in parentheses may contain anything, so fields are counted from the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group] = fields;
  const startTime = fields[19];
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return { pid, group: Number(group), startTime };
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

/**
 * Processes created after `pid`. Pids are assigned sequentially, so only few processes must be inspected. Correct only if the
 * pids have not wrapped around in between, so use it only for runs of seconds.
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
