// The work of the resident process of the sample plugins: runs the scripts of small datasets for launchers that ask for it
// (config/samples/launchers.ts). Nothing is kept from one script for another, except for idle database connections.
//
// A call:  requested --launcher waits--> taken --small, as usual--> running --> replied with its exit code
//                                        taken --anything else--> replied: to run as a process of its own
//          running --cancelled | launcher gone--> its signal is aborted, and it ends like a script that was told to stop

import { closeSync, constants, opendirSync, openSync, statSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { CALLS, CANCELLED, OWN_PROCESS, TAKEN } from '../../config/samples/launchers.ts';
import type { SampleDatabase } from '../../config/samples/row-statements.ts';
import { runSample, type SampleScript } from '../../config/samples/run-sample.ts';
import { processFacts } from '../../engine/adapters/scripts/process-facts.ts';
import { aborted, codeOf } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { openReply, SampleCaller } from './sample-caller.ts';
import { SampleDatabases } from './sample-databases.ts';

const { O_RDONLY, O_NONBLOCK } = constants;

/** A larger dataset takes longer than the start of a process, so it gets one. This also bounds what is in memory here. */
const SMALL = { bytes: 256 * 1024, files: 100 };
/** Scripts at the same time. */
const MOST_CALLS = 64;
/** Different credentials, of which each target has one. */
const MOST_DATABASES = 32;
const IDLE_MS = 60_000;
/** How often we check that launchers are alive. */
const WATCH_MS = 100;

export class SampleCalls {
  /** Descriptor of the pipe of requests. */
  readonly #requests: number;
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #databases = new SampleDatabases(MOST_CALLS);
  /** By process id of the launcher. */
  readonly #running = new Map<number, AbortController>();
  readonly #idle = Promise.withResolvers<void>();
  #cancelIdle: () => void = () => undefined;
  #watching = false;

  /** @param dir the folder of calls */
  constructor(dir: string, clock: Clock, idleMs: number = IDLE_MS) {
    this.#requests = openSync(join(dir, CALLS.requests), O_RDONLY | O_NONBLOCK);
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  /**
   * Resolves when nobody has asked for a while. Requests that arrive later stay in the pipe for the next process.
   * @param requests those that were read from the pipe before
   */
  async serve(requests: readonly string[]): Promise<void> {
    const pipe = new Socket({ fd: this.#requests, readable: true, writable: false });
    let text = '';
    pipe.setEncoding('latin1').on('data', (more: string) => {
      const lines = (text + more).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    });
    for (const line of requests) this.#take(line);
    this.#rest();
    await this.#idle.promise;
    pipe.destroy();
    await this.#databases[Symbol.asyncDispose]();
  }

  #take(line: string): void {
    const [, id, cancelled] = REQUEST.exec(line) ?? [];
    if (id === undefined) return;
    const call = this.#running.get(Number(id));
    if (cancelled !== undefined) call?.abort(aborted('stopped by its launcher'));
    else if (!call) void this.#call(Number(id));
  }

  async #call(pid: number): Promise<void> {
    const stop = new AbortController();
    this.#running.set(pid, stop);
    this.#cancelIdle();
    void this.#watch();
    const reply = openReply(pid, this.#requests);
    if (reply !== undefined) {
      tell(reply, TAKEN);
      tell(reply, await this.#run(pid, stop.signal));
      closeSync(reply);
    }
    this.#running.delete(pid);
    this.#rest();
  }

  async #run(pid: number, signal: AbortSignal): Promise<string> {
    if (this.#running.size > MOST_CALLS || this.#databases.pools > MOST_DATABASES) return OWN_PROCESS;
    let caller: SampleCaller;
    try {
      caller = new SampleCaller(pid, this.#clock);
    } catch {
      return OWN_PROCESS;
    }
    using _pipes = caller;
    const { script, env } = caller;
    if (!isSmall(script)) return OWN_PROCESS;
    const exit = await runSample(script.name, script.kind, script.args, caller.stdin(signal), {
      dataFiles: caller.dataFiles,
      say: (line) => caller.add(line, 'stdout'),
      log: (line) => caller.add(line, 'stderr'),
      database: async () => abortable(await this.#databases.of(env), signal),
      signal,
    });
    await caller.tell(signal).catch(() => undefined);
    return String(exit);
  }

  /** Notices launchers that were killed. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (this.#running.size > 0) {
      await this.#clock.sleep(WATCH_MS);
      for (const [pid, call] of this.#running)
        if (!(await processFacts(pid))) call.abort(aborted('its launcher was killed'));
    }
    this.#watching = false;
  }

  #rest(): void {
    this.#cancelIdle();
    if (this.#running.size === 0) this.#cancelIdle = this.#clock.after(this.#idleMs, this.#idle.resolve);
  }
}

const REQUEST = new RegExp(`^([0-9]+)( ${CANCELLED})?$`);

function tell(reply: number, line: string): void {
  try {
    writeSync(reply, `${line}\n`);
  } catch (error) {
    // The launcher was killed.
    if (codeOf(error) !== 'EPIPE') throw error;
  }
}

/** Does not wait for a statement after an abort. The signal is checked before each commit, so nothing is changed afterwards. */
const abortable = (database: SampleDatabase, signal: AbortSignal): SampleDatabase => ({
  platform: database.platform,
  query: (text, values) => unlessAborted(database.query(text, values), signal),
  transaction: (work, until) => unlessAborted(database.transaction(work, until), signal),
});

function isSmall({ kind, args }: SampleScript): boolean {
  const [folder] = kind === 'import' ? args : kind === 'install-data' ? args.slice(1) : [];
  try {
    return folder === undefined || fits(folder, { ...SMALL });
  } catch {
    return false; // its own process says what is wrong with it
  }
}

/** Synchronous: a few reads from memory, on the path of every script. */
function fits(folder: string, left: { bytes: number; files: number }): boolean {
  using entries = opendirSync(folder);
  for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
    const path = join(folder, entry.name);
    left.files--;
    if (entry.isFile()) left.bytes -= statSync(path).size;
    if (left.bytes < 0 || left.files < 0) return false;
    if (entry.isDirectory() && !fits(path, left)) return false;
  }
  return true;
}
