// Has a resident process run the scripts of the sample plugins (sample-calls.ts). It starts with the first script and ends when
// none was run for a while. Whatever fails here, launchers run their scripts as processes of their own.
//
// States:  listening --request--> serving --nobody asks for a while--> listening
//                                 serving --crash--> resting (launchers see no reader) --a while--> listening

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, renameSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CALLS, NOBODY } from '../../config/samples/launchers.ts';
import { Actor, type ActorOptions } from '../../engine/runtime/actor.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import { openReply } from './sample-caller.ts';

const { O_RDONLY, O_RDWR, O_NONBLOCK } = constants;
const PLACES = '/usr/local/bin:/usr/bin:/bin';
const REST_MS = 30_000;
const MKFIFO_MS = 10_000;

interface ResidentSamplesOptions extends ActorOptions {
  /** The folder of calls. It is created and emptied. */
  readonly dir: string;
  /** Program and first arguments that start this program. */
  readonly runtimeArgv: readonly string[];
  /** For how long launchers run their scripts themselves after a crash. */
  readonly restMs?: number;
}

export class ResidentSamples extends Actor {
  readonly #options: ResidentSamplesOptions;
  /** Keeps the pipe of requests open. Launchers open it through this descriptor, so they never wait for a reader. */
  #held: number | undefined;
  #listening: Socket | undefined;
  #process: ChildProcess | undefined;
  #cancelRest: () => void = () => undefined;

  constructor(options: ResidentSamplesOptions) {
    super(options);
    this.#options = options;
  }

  protected async open(): Promise<void> {
    const { dir } = this.#options;
    try {
      await rm(dir, { recursive: true, force: true });
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await promisify(execFile)('mkfifo', ['-m', '600', this.#requests], { env: { PATH: PLACES }, timeout: MKFIFO_MS });
      this.#held = openSync(this.#requests, O_RDWR | O_NONBLOCK);
      this.#listen();
    } catch (error) {
      this.#giveUp(error);
    }
  }

  protected async work(): Promise<void> {
    if (!this.stopping.aborted) await once(this.stopping, 'abort');
    this.#cancelRest();
    this.#listening?.destroy();
    this.#dismiss();
    const child = this.#process;
    if (child) {
      const exited = once(child, 'exit');
      this.ended.addEventListener('abort', () => child.kill('SIGKILL'));
      if (child.connected) child.disconnect();
      await exited;
    }
    if (this.#held !== undefined) closeSync(this.#held);
  }

  get #requests(): string {
    return join(this.#options.dir, CALLS.requests);
  }

  #listen(): void {
    try {
      const reader = join(this.#options.dir, CALLS.reader);
      // Atomically: a launcher that found none would run its script itself.
      rmSync(`${reader}.new`, { force: true });
      symlinkSync(`/proc/${process.pid}/fd/${this.#held}`, `${reader}.new`);
      renameSync(`${reader}.new`, reader);
      const fd = openSync(this.#requests, O_RDONLY | O_NONBLOCK);
      const socket = new Socket({ fd, readable: true, writable: false });
      this.#listening = socket;
      socket.setEncoding('latin1').once('data', (text: string) => {
        // What arrives from now on stays in the pipe for the process.
        socket.destroy();
        this.#start(text.split('\n').filter((line) => line !== ''));
      });
    } catch (error) {
      // Nobody reads what launchers ask from now on.
      this.#dismiss();
      this.#giveUp(error);
    }
  }

  #start(requests: readonly string[]): void {
    const { dir, runtimeArgv } = this.#options;
    const [program = '', ...args] = [...runtimeArgv, 'sample-scripts', dir, ...requests];
    const child = spawn(program, args, {
      ...{ cwd: '/', detached: true, env: {} },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#process = child;
    child.once('error', (error) => this.#ended(child, { err: messageOf(error) }));
    child.once('exit', (code, signal) => this.#ended(child, code === 0 ? undefined : { code, signal }));
  }

  /** @param crash undefined: it ended because nobody asked */
  #ended(child: ChildProcess, crash: object | undefined): void {
    if (this.#process !== child) return;
    this.#process = undefined;
    if (this.stopping.aborted) return;
    if (!crash) {
      this.#listen();
      return;
    }
    this.log.warn(crash, 'the resident process of the sample scripts crashed; they run as processes of their own');
    this.#dismiss();
    this.#cancelRest = this.clock.after(this.#options.restMs ?? REST_MS, () => this.#listen());
  }

  /** No launcher asks any more. Those whose request was not taken do it themselves; the others notice that their pipe closed. */
  #dismiss(): void {
    if (this.#held === undefined) return;
    try {
      rmSync(join(this.#options.dir, CALLS.reader), { force: true });
      for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
        const reply = openReply(Number(pid), this.#held);
        if (reply === undefined) continue;
        writeSync(reply, `${NOBODY}\n`);
        closeSync(reply);
      }
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** The folder of calls cannot be used, or was removed. */
  #giveUp(error: unknown): void {
    this.log.warn({ err: messageOf(error) }, 'each sample script runs as a process of its own');
  }
}
