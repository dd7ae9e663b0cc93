// Spawns scripts through a small separate process (script-spawner-process.ts). To fork, the kernel copies the page tables of
// the parent. For a process of 300 MB this takes 10 ms and more, during which it is blocked. Outputs come through named pipes,
// not through that process. It starts with the first script and ends a minute after the last.
//
// States:  none --spawn--> starting --connected--> ready --its end--> none   (running scripts are lost: `exit` rejects)

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import type { OutputPipe, ScriptPipes } from './script-pipes.ts';
import type { LeaveOrder, SpawnOrder, SpawnReport } from './script-spawner-process.ts';
import { closedAfter, type Exit, notSpawned, type ScriptCommand, type SpawnedScript } from './spawned-script.ts';

const IDLE_MS = 60_000;
/** Deadline for the start of the process, and for the start of each script. */
const START_MS = 20_000;

/** With one arena for all threads, the C library's heap is smaller: each fork copies the page tables of its memory. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '1' };

interface Started {
  readonly pid: number;
  readonly startTime: string | undefined;
}

interface Run {
  readonly started: PromiseWithResolvers<Started>;
  readonly exit: PromiseWithResolvers<Exit>;
}

interface Spawner {
  readonly child: ChildProcess;
  readonly runs: Map<number, Run>;
}

export class ScriptSpawner implements AsyncDisposable {
  readonly #argv: readonly string[];
  readonly #pipes: ScriptPipes;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** The value of `#spawner` once it is available. */
  #live: Spawner | undefined;
  #spawner: Promise<Spawner> | undefined;
  #last = 0;
  #running = 0;
  #cancelIdle: () => void = () => undefined;
  #over = false;

  /** @param argv program and arguments that call `runSpawner` */
  constructor(argv: readonly string[], pipes: ScriptPipes, clock: Clock, log: Logger) {
    this.#argv = argv;
    this.#pipes = pipes;
    this.#clock = clock;
    this.#log = log;
  }

  /** Undefined when the spawner process is not available: the caller then spawns the script itself. */
  async spawn(command: ScriptCommand): Promise<SpawnedScript | undefined> {
    if (this.#over) return undefined;
    this.#cancelIdle();
    this.#running++;
    try {
      this.#spawner ??= this.#start();
      return await this.#spawnBy(await this.#spawner, command);
    } catch (error) {
      // A spawner that failed once is not tried again.
      if (!this.#over)
        this.#log.warn(
          { err: messageOf(error) },
          'the spawner process is not available; scripts are spawned by this process',
        );
      this.#over = true;
      this.#ended();
      return undefined;
    }
  }

  /** Runs a program without output. Undefined while there is no spawner process. */
  run(command: ScriptCommand): Promise<Exit> | undefined {
    const spawner = this.#live;
    if (this.#over || !spawner) return undefined;
    this.#cancelIdle();
    this.#running++;
    return this.#order(spawner, { id: ++this.#last, outputs: [], ...command }).then(
      ({ exit }) => exit,
      (error: unknown) => {
        this.#ended();
        throw error;
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    this.#cancelIdle();
    await this.#end();
  }

  #ended(): void {
    this.#running--;
    if (this.#running > 0) return;
    this.#live?.child.channel?.unref();
    this.#cancelIdle = this.#clock.after(IDLE_MS, () => void this.#end());
  }

  async #spawnBy(spawner: Spawner, command: ScriptCommand): Promise<SpawnedScript> {
    const outputs: OutputPipe[] = [];
    let isNamed = true;
    try {
      for (let n = 0; n < 2; n++) outputs.push(await this.#pipes.output());
      const paths = outputs.map(({ path }) => path);
      const { pid, startTime, exit } = await this.#order(spawner, { id: ++this.#last, outputs: paths, ...command });
      isNamed = false;
      const [out, err] = outputs.map((output) => output.stream());
      const spawned = Promise.resolve(undefined);
      const closed = closedAfter(exit, [out, err]);
      return { spawned, exit, pid, startTime, stdin: undefined, stdout: out, stderr: err, closed };
    } catch (error) {
      this.#ended();
      return notSpawned(error as Error);
    } finally {
      for (const output of outputs) await output.release(isNamed);
    }
  }

  /** Resolves when the script runs. */
  async #order(spawner: Spawner, order: SpawnOrder): Promise<Started & { readonly exit: Promise<Exit> }> {
    const run: Run = { started: Promise.withResolvers(), exit: Promise.withResolvers() };
    for (const one of [run.started, run.exit]) one.promise.catch(() => undefined);
    spawner.runs.set(order.id, run);
    spawner.child.channel?.ref();
    spawner.child.send(order, (error) => {
      if (error) lose(run, error);
    });
    if (!(await settledWithin(this.#clock, START_MS, run.started.promise))) spawner.child.kill('SIGKILL');
    try {
      const started = await run.started.promise;
      const forget = (): void => {
        spawner.runs.delete(order.id);
        this.#ended();
      };
      void run.exit.promise.then(forget, forget);
      return { ...started, exit: run.exit.promise };
    } catch (error) {
      spawner.runs.delete(order.id);
      throw error;
    }
  }

  async #start(): Promise<Spawner> {
    const [program = '', ...args] = this.#argv;
    const runs = new Map<number, Run>();
    const child = spawn(program, args, {
      ...{ cwd: '/', detached: true, env: ENVIRONMENT },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const spawner = { child, runs };
    child.on('message', (report: SpawnReport) => tell(report, runs));
    child.on('error', () => this.#lost(spawner));
    child.on('exit', () => this.#lost(spawner));
    const ready = Promise.race([once(child, 'message'), once(child, 'exit').then(() => false)]).catch(() => false);
    if (!(await settledWithin(this.#clock, START_MS, ready)) || !(await ready)) {
      child.kill('SIGKILL');
      throw transient(`${program} does not start`);
    }
    child.unref();
    this.#live = spawner;
    return spawner;
  }

  #lost(spawner: Spawner): void {
    if (this.#live === spawner) {
      this.#live = undefined;
      this.#spawner = undefined;
    }
    for (const run of spawner.runs.values()) lose(run, undefined);
    spawner.runs.clear();
  }

  async #end(): Promise<void> {
    const spawner = await this.#spawner?.catch(() => undefined);
    // An idle spawner may just have been requested again.
    if (!spawner || (this.#running > 0 && !this.#over)) return;
    this.#live = undefined;
    this.#spawner = undefined;
    const { child } = spawner;
    child.ref();
    if (child.connected) {
      // Disconnect only after the message was sent: closing the channel discards pending messages.
      child.send({ id: 0 } satisfies LeaveOrder, () => child.disconnect());
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

function tell(report: SpawnReport, runs: ReadonlyMap<number, Run>): void {
  const run = runs.get(report.id);
  if (!run) return;
  if (report.kind === 'spawned') run.started.resolve({ pid: report.pid, startTime: report.startTime });
  if (report.kind === 'failed') run.started.reject(Object.assign(new Error(report.message), { code: report.code }));
  if (report.kind === 'exited') run.exit.resolve({ code: report.code, signal: report.signal });
}

function lose({ started, exit }: Run, cause: unknown): void {
  const lost = transient('the spawner process ended', { cause });
  for (const { reject } of [started, exit]) reject(lost);
}
