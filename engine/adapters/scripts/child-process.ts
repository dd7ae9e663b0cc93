// Runs scripts as child processes: own process group, argv without a shell, only the given environment.
//
// States:  expected --spawn--> running --exit--> draining --pipes closed | grace--> sweeping --nobody left--> ended
//          running --deadline | abort--> ending (SIGTERM to the group, grace, SIGKILL) --exit--> sweeping
// Processes that a script leaves behind (in the background, or with setsid) are killed in `sweeping`; none outlives its run.

import { accessSync, constants, existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { ScriptEnd, ScriptResult, ScriptRunner, ScriptSpec } from '../../ports/script-runner.ts';
import { aborted, Cancelled, Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { endProcesses, type RunRecord, ScriptRecords } from './child-process-records.ts';
import { ScriptRun } from './child-process-run.ts';
import {
  groupExists,
  groupMembers,
  processesAfter,
  processesOfRun,
  RUN_VARIABLE,
  sendSignal,
} from './process-facts.ts';
import { ScriptPipes } from './script-pipes.ts';
import { ScriptSpawner } from './script-spawner.ts';
import { type Exit, type ScriptCommand, type SpawnedScript, spawnHere } from './spawned-script.ts';

const GRACE_MS = 10_000;
const DRAIN_MS = 1_000;
/** Maximum delay of a Node.js timer; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** After a longer run pids may have wrapped around, so every process is inspected. */
const SHORT_RUN_MS = 10_000;
const PRLIMIT_PLACES = ['/usr/bin/prlimit', '/bin/prlimit'] as const;

export interface ChildProcessOptions {
  /** Where running scripts are recorded (see endLeftoverScripts); created if missing. */
  readonly stateDir: string;
  /** Time from SIGTERM to SIGKILL. */
  readonly graceMs?: number;
  /** How long to wait for more output after the script itself has ended. */
  readonly drainMs?: number;
  /** Program that sets limits; default: found in its usual locations; null = none. */
  readonly prlimit?: string | null;
  /** Program that creates named pipes; default: found in its usual locations. */
  readonly mkfifo?: string;
  /** Folders of which the first that can be written gets the named pipes; default: in memory, otherwise on the disk. */
  readonly pipesIn?: readonly string[];
  /** Program and arguments of the process that spawns scripts (script-spawner.ts). Undefined: this process spawns them. */
  readonly spawner?: readonly string[];
}

export class ChildProcessRunner implements ScriptRunner, AsyncDisposable {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #records: ScriptRecords;
  readonly #graceMs: number;
  readonly #drainMs: number;
  readonly #prlimit: string | undefined;
  readonly #pipes: ScriptPipes;
  readonly #spawner: ScriptSpawner | undefined;
  /** Groups of the running scripts. */
  readonly #groups = new Set<number>();
  #warnedOfLimits = false;

  constructor(options: ChildProcessOptions, clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    this.#records = new ScriptRecords(options.stateDir);
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#drainMs = options.drainMs ?? DRAIN_MS;
    this.#prlimit = options.prlimit === undefined ? PRLIMIT_PLACES.find(isExecutable) : (options.prlimit ?? undefined);
    this.#pipes = new ScriptPipes(clock, options.mkfifo, (command) => this.#spawner?.run(command), options.pipesIn);
    if (options.spawner) this.#spawner = new ScriptSpawner(options.spawner, this.#pipes, clock, log);
  }

  async run(spec: ScriptSpec, signal: AbortSignal): Promise<ScriptResult> {
    throwIfAborted(spec, signal);
    const started = this.#clock.now();
    const program = this.#isFoundByKernel(spec)
      ? ({ kind: 'found', path: spec.program } as const)
      : await locate(spec.program, spec.env.PATH);
    if (program.kind !== 'found') return unstarted({ kind: program.kind, program: spec.program });
    const record = await this.#records.expect(spec.runId);
    const run = await this.#start(spec, program.path, record, signal);
    if (!(run instanceof ScriptRun)) return unstarted(run);
    const recorded = record
      .started(run.group, run.startTime)
      .catch((err: unknown) =>
        this.#log.warn({ err, run: spec.runId }, 'the process group of a script could not be recorded'),
      );
    // Also if a process cannot be killed, which fails the run: its pipes are closed all the same.
    using _pipes = { [Symbol.dispose]: () => run.close() };
    this.#groups.add(run.group);
    using _group = { [Symbol.dispose]: () => void this.#groups.delete(run.group) };
    const outcome = await this.#attend(run, spec, signal).catch(async (error: unknown) => {
      // We will not be notified of its end, so kill it as far as possible.
      await endProcesses(() => this.#leftBehind(run.group, spec.runId, SHORT_RUN_MS), this.#clock);
      await recorded;
      await record.free();
      throw error;
    });
    const durationMs = this.#clock.now() - started;
    await run.drained(outcome.cutShort ? 0 : this.#drainMs, this.#clock);
    await endProcesses(() => this.#leftBehind(run.group, spec.runId, durationMs), this.#clock);
    const { stdout, stderrTail } = await run.output(this.#drainMs, this.#clock);
    await recorded;
    // Not in a `finally`: a process that could not be killed stays on record for the next start.
    await record.free();
    throwIfAborted(spec, signal);
    if (outcome.inputFault) throw outcome.inputFault;
    return { end: outcome.end, stdout, stderrTail, durationMs };
  }

  /** Call it after the last run has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spawner?.[Symbol.asyncDispose]();
    await this.#pipes[Symbol.asyncDispose]();
    await this.#records[Symbol.asyncDispose]();
  }

  /** The running script, or the reason why it did not start. */
  async #start(
    spec: ScriptSpec,
    program: string,
    record: RunRecord,
    signal: AbortSignal,
  ): Promise<ScriptRun | ScriptEnd> {
    let running = false;
    try {
      throwIfAborted(spec, signal);
      const run = new ScriptRun(spec, await this.#spawn(program, spec));
      const fault = await run.spawned;
      running = fault === undefined;
      if (fault instanceof Failure) {
        // It is unknown whether the script was started.
        await endProcesses(() => processesOfRun(spec.runId), this.#clock);
        throw fault;
      }
      return fault ? endOfSpawnError(fault, spec) : run;
    } finally {
      if (!running) await record.free();
    }
  }

  async #spawn(program: string, spec: ScriptSpec): Promise<SpawnedScript> {
    const [first, ...args] = this.#limited(program, spec);
    const env = { ...spec.env, [RUN_VARIABLE]: spec.runId };
    const command: ScriptCommand = { program: first, args, cwd: spec.cwd, env };
    const spawned = spec.stdin ? undefined : await this.#spawner?.spawn(command);
    return spawned ?? spawnHere(command, spec.stdin ? 'pipe' : 'ignore', this.#pipes);
  }

  /** Waits for the script's own end. Stops its group at the deadline or on abort. */
  async #attend(
    run: ScriptRun,
    spec: ScriptSpec,
    signal: AbortSignal,
  ): Promise<{ end: ScriptEnd; cutShort: boolean; inputFault: unknown }> {
    let timedOut = false;
    let stopping = false;
    let inputFault: unknown;
    const stuck = Promise.withResolvers<never>();
    const timers: (() => void)[] = [];
    const stop = (): void => {
      if (stopping) return;
      stopping = true;
      const { reason } = signal;
      const hard = reason instanceof Cancelled && reason.hard;
      if (!hard) sendSignal(-run.group, 'SIGTERM');
      timers.push(
        this.#clock.after(hard ? 0 : this.#graceMs, () => {
          sendSignal(-run.group, 'SIGKILL');
          timers.push(
            this.#clock.after(GRACE_MS, () =>
              stuck.reject(
                new Failure(
                  'transient',
                  `process ${run.group} (${spec.program}) does not terminate even after SIGKILL`,
                ),
              ),
            ),
          );
        }),
      );
    };
    timers.push(
      this.#clock.after(Math.min(spec.maxDurationMs, LONGEST_TIMER_MS), () => {
        timedOut = true;
        stop();
      }),
    );
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    void run.inputFault.then((fault) => {
      inputFault = fault;
      stop();
    });
    try {
      const exit = await Promise.race([run.exit, stuck.promise]);
      return { end: endOf(exit, timedOut, spec), cutShort: stopping, inputFault };
    } finally {
      signal.removeEventListener('abort', stop);
      for (const cancel of timers) cancel();
    }
  }

  /** Then starting it says as much as looking for it. With limits, another program starts it. */
  #isFoundByKernel({ program, limits }: ScriptSpec): boolean {
    return isAbsolute(program) && limits?.cpuSeconds === undefined && limits?.fileSizeBytes === undefined;
  }

  async #leftBehind(group: number, runId: string, ranMs: number): Promise<number[]> {
    const members = groupExists(group) ? await groupMembers(group) : [];
    // The leaders of other running scripts do not belong to this one.
    const among = ranMs < SHORT_RUN_MS ? await processesAfter(group, this.#groups) : undefined;
    return [...new Set([...members, ...(await processesOfRun(runId, among))])];
  }

  #limited(program: string, spec: ScriptSpec): readonly [string, ...string[]] {
    const { cpuSeconds, fileSizeBytes } = spec.limits ?? {};
    if (cpuSeconds === undefined && fileSizeBytes === undefined) return [program, ...spec.args];
    if (this.#prlimit === undefined) {
      if (!this.#warnedOfLimits)
        this.#log.warn({ limits: spec.limits }, 'prlimit not found: scripts run without limits');
      this.#warnedOfLimits = true;
      return [program, ...spec.args];
    }
    return [
      this.#prlimit,
      ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}`]),
      ...(fileSizeBytes === undefined ? [] : [`--fsize=${fileSizeBytes}`]),
      program,
      ...spec.args,
    ];
  }
}

const NOT_FOUND = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];

type Located = { readonly kind: 'found'; readonly path: string } | { readonly kind: 'not-found' | 'not-executable' };

/** Finds the program like the kernel does, to distinguish a missing program from one that is not executable. */
async function locate(program: string, path: string | undefined): Promise<Located> {
  const places = program.includes('/')
    ? [program]
    : (path ?? '')
        .split(delimiter)
        .filter(isAbsolute)
        .map((dir) => join(dir, program));
  for (const place of places) if (await may(place, constants.X_OK)) return { kind: 'found', path: place };
  for (const place of places) if (await may(place, constants.F_OK)) return { kind: 'not-executable' };
  return { kind: 'not-found' };
}

const may = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

function endOf({ code, signal }: Exit, timedOut: boolean, spec: ScriptSpec): ScriptEnd {
  if (timedOut) return { kind: 'timed-out', afterMs: spec.maxDurationMs };
  return signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'killed', signal };
}

function endOfSpawnError(error: NodeJS.ErrnoException, spec: ScriptSpec): ScriptEnd {
  if (error.code === 'ENOENT' && !existsSync(spec.cwd))
    throw new Failure('defect', `workspace ${spec.cwd} of ${spec.program} does not exist`, { cause: error });
  // Also when the interpreter in its first line is missing.
  if (NOT_FOUND.includes(error.code ?? '')) return { kind: 'not-found', program: spec.program };
  if (error.code === 'EACCES' || error.code === 'ENOEXEC') return { kind: 'not-executable', program: spec.program };
  const kind = ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(error.code ?? '') ? 'transient' : 'defect';
  throw new Failure(kind, `cannot start ${spec.program}: ${messageOf(error)}`, { cause: error });
}

const unstarted = (end: ScriptEnd): ScriptResult => ({ end, stdout: [], stderrTail: '', durationMs: 0 });

function throwIfAborted(spec: ScriptSpec, signal: AbortSignal): void {
  if (signal.aborted)
    throw aborted(`${spec.program} was stopped: ${messageOf(signal.reason)}`, { cause: signal.reason });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
