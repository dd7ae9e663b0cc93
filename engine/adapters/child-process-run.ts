// One child process with its three pipes: fed, drained to the end, and closed even when someone else holds them open.

import { type ChildProcess, spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ScriptResult, ScriptSpec } from '../ports/script-runner.ts';
import type { Clock } from '../time.ts';
import { settledWithin } from '../wait.ts';
import { CappedLines, LineCap, Tail } from './child-process-output.ts';
import { RUN_VARIABLE } from './child-process-table.ts';

/** Errors that only say that the script did not want its input. */
const NOT_READ = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR'];

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class ScriptRun {
  readonly exit: Promise<Exit>;
  /** The error of a child that could not be started; undefined once it runs. */
  readonly spawned: Promise<Error | undefined>;
  /** Resolves when the caller's input threw; pending otherwise. */
  readonly inputFault: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #stdout = new CappedLines();
  readonly #stderrTail = new Tail();
  readonly #stderrLines: LineCap;

  constructor(spec: ScriptSpec, [program, ...args]: readonly [string, ...string[]]) {
    this.#stderrLines = new LineCap((line) => spec.onStderr?.(line));
    const child = spawn(program, args, {
      cwd: spec.cwd,
      env: { ...spec.env, [RUN_VARIABLE]: spec.runId },
      detached: true,
      stdio: [spec.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.spawned = new Promise((resolve) => {
      child.once('spawn', () => resolve(undefined));
      child.once('error', resolve);
    });
    this.exit = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.#closed = new Promise((resolve) => {
      child.once('close', () => resolve());
    });
    // A pipe that breaks has nothing more to say; the exit does.
    for (const stream of this.#pipes) stream?.on('error', () => undefined);
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout.write(chunk);
      release(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail.write(chunk);
      this.#stderrLines.write(chunk);
      release(chunk);
    });
    this.inputFault = new Promise((resolve) => {
      if (!spec.stdin || !child.stdin) return;
      pipeline(Readable.from(spec.stdin), child.stdin).catch((error: NodeJS.ErrnoException) => {
        if (!NOT_READ.includes(error.code ?? '')) resolve(error);
      });
    });
  }

  /** None when there were no descriptors left to make them. */
  get #pipes(): Partial<ChildProcess['stdio']> {
    return (this.#child as Partial<ChildProcess>).stdio ?? [];
  }

  get group(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits until nobody holds the output pipes any more, at most `ms`. */
  async drained(ms: number, clock: Clock): Promise<void> {
    if (ms > 0) await settledWithin(clock, ms, this.#closed);
  }

  async output(ms: number, clock: Clock): Promise<Pick<ScriptResult, 'stdout' | 'stderrTail'>> {
    await this.drained(ms, clock);
    this.close();
    this.#stderrLines.end();
    return { stdout: this.#stdout.end(), stderrTail: this.#stderrTail.end() };
  }

  /** Whoever holds the other ends. */
  close(): void {
    for (const stream of this.#pipes) stream?.destroy();
  }
}

/** Gives back what was read and is done with: it lies outside the heap, where the collector is slow to see it pile up. */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
