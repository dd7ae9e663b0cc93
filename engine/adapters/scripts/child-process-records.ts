// Records which scripts run. After a kill -9, the next start kills the scripts that were left behind before their jobs are
// retried (docs/design/decisions.md#script-runner). There is one file per service process, `{pid}-{startTime}-{random}.runs`,
// with one slot of fixed width per concurrent script. A run costs two small writes instead of a file.
//
// A slot:  free --expect (run id)--> expected --started (group)--> running --free--> free

import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { groupMembers, processesOfRun, processFacts, sendSignal } from './process-facts.ts';

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

  /** @param startTime of the group's leader, if it is known already */
  async started(pgid: number, startTime?: string): Promise<void> {
    const group = { pgid, startTime: startTime ?? (await processFacts(pgid))?.startTime };
    await this.write({ runId: this.#runId, group });
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
