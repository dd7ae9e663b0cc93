// One `longshore serve` of an installation: started, waited for until it takes requests, killed and started again with the
// same port. What it logs goes to a file.
//   up        runs
//   killed    by us, with -9
//   stopped   by us, in good order
//   gone      by itself, which never may happen

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetch } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import { ROOT } from '../../support/longshore.ts';

const LOOK_MS = 100;
const READY_MS = 120_000;
const never = new AbortController().signal;

export type Service = 'installer' | 'report' | 'access';

export interface ServeOptions {
  readonly name: string;
  readonly configuration: string;
  readonly ports: Readonly<Record<Service, number>>;
  readonly env: Readonly<Record<string, string>>;
  /** Folder of the log. */
  readonly logDir: string;
}

export class ServeProcess {
  readonly #options: ServeOptions;
  readonly url: string;
  readonly log: string;
  /** How it ended, each time that nobody asked it to. */
  readonly endedAlone: string[] = [];
  #child: ChildProcess | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #wanted = false;

  constructor(options: ServeOptions) {
    this.#options = options;
    this.url = this.urlOf('installer');
    this.log = join(options.logDir, `${options.name}.log`);
  }

  get name(): string {
    return this.#options.name;
  }

  urlOf(service: Service): string {
    return `http://127.0.0.1:${this.#options.ports[service]}`;
  }

  /** Of the last start. */
  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.name} has not started`);
    return this.#child.pid;
  }

  /** Resolves once it takes requests. */
  async start(): Promise<void> {
    const { configuration, env } = this.#options;
    const output = openSync(this.log, 'a');
    const entry = join(ROOT, 'bin', 'longshore.ts');
    const child = spawn(process.execPath, [entry, 'serve', '--config', configuration], {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    });
    this.#child = child;
    this.#wanted = true;
    this.#closed = once(child, 'close').then(([code, signal]) => {
      if (this.#wanted) this.endedAlone.push(`${this.name} ended with ${code ?? signal}`);
    });
    for (const begun = Date.now(); !(await this.isReady()); await systemClock.sleep(LOOK_MS, never)) {
      const ended = child.exitCode !== null || child.signalCode !== null;
      if (!ended && Date.now() - begun < READY_MS) continue;
      const said = readFileSync(this.log, 'utf8').slice(-4_000);
      throw new Error(`${this.name} ${ended ? 'ended' : `was not ready within ${READY_MS} ms`}: ${said}`);
    }
  }

  async isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.url}/ready`, { signal: AbortSignal.timeout(5_000) });
      await response.body?.cancel();
      return response.status === 200;
    } catch {
      return false;
    }
  }

  /** Hangs: connections stay open and nothing is answered. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  continue(): void {
    this.#child?.kill('SIGCONT');
  }

  /** With -9. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** In good order; the exit code. */
  async stop(): Promise<number | null> {
    await this.#end('SIGTERM');
    return this.#child?.exitCode ?? null;
  }

  /** Of its log, what is worse than a warning. */
  errors(): readonly string[] {
    return readFileSync(this.log, 'utf8')
      .split('\n')
      .filter((line) => /^\{"level":(50|60|"error"|"fatal")/.test(line));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#wanted = false;
    this.#child?.kill(signal);
    await this.#closed;
  }
}
