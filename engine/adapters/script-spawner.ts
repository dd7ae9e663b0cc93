// Has scripts started by a small process of its own (script-spawner-process.ts). To start a process, the system copies the
// tables of the memory of whoever starts it: 10 ms and more for one of 300 MB, in which it does nothing else. Outputs come
// over sockets, without a way through that process. It starts with the first script and ends a minute after the last.
//
// States:  none --spawn--> starting --connected--> ready --its end--> none   (what ran is lost: `exit` rejects)

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, transient } from '../failure.ts';
import type { Logger } from '../log.ts';
import type { Clock } from '../time.ts';
import { settledWithin } from '../wait.ts';
import type { SpawnOrder, SpawnReport } from './script-spawner-process.ts';
import type { Exit, ScriptCommand, SpawnedScript } from './spawned-script.ts';

const IDLE_MS = 60_000;
/** For a start of the process, and for each script's. */
const START_MS = 20_000;
const OUTPUTS = ['out', 'err'] as const;

interface Run {
  readonly outputs: Map<string, Socket>;
  readonly connected: PromiseWithResolvers<void>;
  readonly started: PromiseWithResolvers<number>;
  readonly exit: PromiseWithResolvers<Exit>;
}

interface Spawner {
  readonly child: ChildProcess;
  readonly server: Server;
  readonly dir: string;
  readonly socket: string;
  readonly runs: Map<number, Run>;
}

export class ScriptSpawner implements AsyncDisposable {
  readonly #argv: readonly string[];
  readonly #clock: Clock;
  readonly #log: Logger;
  /** That of `#spawner`, once it is there. */
  #live: Spawner | undefined;
  #spawner: Promise<Spawner> | undefined;
  #last = 0;
  #running = 0;
  #cancelIdle: () => void = () => undefined;
  #over = false;

  /** @param argv program and arguments that call `runSpawner` */
  constructor(argv: readonly string[], clock: Clock, log: Logger) {
    this.#argv = argv;
    this.#clock = clock;
    this.#log = log;
  }

  /** Undefined when there is no process that starts scripts: the caller starts the script by itself. */
  async spawn(command: ScriptCommand): Promise<SpawnedScript | undefined> {
    if (this.#over) return undefined;
    this.#cancelIdle();
    this.#running++;
    try {
      this.#spawner ??= this.#start();
      return await this.#spawnBy(await this.#spawner, command);
    } catch (error) {
      // What could not be had once is not asked for again.
      if (!this.#over)
        this.#log.warn({ err: messageOf(error) }, 'no process that starts scripts: they start from here');
      this.#over = true;
      this.#ended();
      return undefined;
    }
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
    const id = ++this.#last;
    const run: Run = {
      outputs: new Map(),
      connected: Promise.withResolvers(),
      started: Promise.withResolvers(),
      exit: Promise.withResolvers(),
    };
    for (const one of [run.connected, run.started, run.exit]) one.promise.catch(() => undefined);
    spawner.runs.set(id, run);
    spawner.child.channel?.ref();
    const forget = (): void => {
      spawner.runs.delete(id);
      this.#ended();
    };
    const order: SpawnOrder = { id, socket: spawner.socket, ...command };
    spawner.child.send(order, (error) => {
      if (error) lose(run, error);
    });
    const begun = Promise.all([run.started.promise, run.connected.promise]);
    const inTime = await settledWithin(
      this.#clock,
      START_MS,
      begun.catch(() => undefined),
    );
    if (!inTime) spawner.child.kill('SIGKILL');
    let pid = 0;
    let fault: Error | undefined;
    try {
      [pid] = await begun;
      void run.exit.promise.then(forget, forget);
    } catch (error) {
      fault = error as Error;
      for (const socket of run.outputs.values()) socket.destroy();
      forget();
    }
    const [stdout, stderr] = OUTPUTS.map((which) => run.outputs.get(which));
    const closed = [stdout, stderr].map((socket) => socket && closing(socket));
    return {
      spawned: Promise.resolve(fault),
      exit: run.exit.promise,
      closed: Promise.all([run.exit.promise, ...closed]).then(() => undefined),
      ...{ pid, stdin: undefined, stdout, stderr },
    };
  }

  async #start(): Promise<Spawner> {
    const [program = '', ...args] = this.#argv;
    // A socket's path may have a hundred characters only; the folder is its owner's alone.
    const dir = await mkdtemp(join(tmpdir(), 'longshore-'));
    const runs = new Map<number, Run>();
    const server = createServer((socket) => take(socket, runs));
    try {
      const socket = join(dir, 's');
      server.listen(socket);
      await once(server, 'listening');
      server.unref();
      const child = spawn(program, args, {
        ...{ cwd: '/', detached: true, env: {} },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      const spawner = { child, server, dir, socket, runs };
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
    } catch (error) {
      server.close();
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  #lost(spawner: Spawner): void {
    const { server, dir, runs } = spawner;
    if (this.#live === spawner) {
      this.#live = undefined;
      this.#spawner = undefined;
    }
    for (const run of runs.values()) lose(run, undefined);
    runs.clear();
    server.close();
    void rm(dir, { recursive: true, force: true }).catch(() => undefined);
  }

  async #end(): Promise<void> {
    const spawner = await this.#spawner?.catch(() => undefined);
    // One that is idle may just have been asked for again.
    if (!spawner || (this.#running > 0 && !this.#over)) return;
    this.#live = undefined;
    this.#spawner = undefined;
    spawner.child.ref();
    if (spawner.child.connected) spawner.child.disconnect();
    if (spawner.child.exitCode === null && spawner.child.signalCode === null) await once(spawner.child, 'exit');
  }
}

/** A connection says first which output of which script it is; what follows is the script's. */
function take(socket: Socket, runs: ReadonlyMap<number, Run>): void {
  let head = Buffer.alloc(0);
  const read = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\n');
    if (end < 0) return;
    socket.off('data', read);
    socket.pause();
    const [id = '', which = ''] = head.toString('latin1', 0, end).split(' ');
    const run = runs.get(Number(id));
    if (!run) {
      socket.destroy();
      return;
    }
    if (end + 1 < head.length) socket.unshift(head.subarray(end + 1));
    run.outputs.set(which, socket);
    if (run.outputs.size === OUTPUTS.length) run.connected.resolve();
  };
  socket.on('data', read);
  socket.on('error', () => undefined);
}

function tell(report: SpawnReport, runs: ReadonlyMap<number, Run>): void {
  const run = runs.get(report.id);
  if (!run) return;
  if (report.kind === 'spawned') run.started.resolve(report.pid);
  if (report.kind === 'failed') run.started.reject(Object.assign(new Error(report.message), { code: report.code }));
  if (report.kind === 'exited') run.exit.resolve({ code: report.code, signal: report.signal });
}

function lose({ connected, started, exit }: Run, cause: unknown): void {
  const lost = transient('the process that starts scripts ended', { cause });
  for (const { reject } of [connected, started, exit]) reject(lost);
}

const closing = (socket: Socket): Promise<void> =>
  socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
