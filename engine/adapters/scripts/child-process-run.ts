// One child process with its three pipes: fed, drained to the end, and closed even when someone else holds them open.

import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ScriptResult, ScriptSpec } from '../../ports/script-runner.ts';
import { giveBack } from '../../runtime/give-back.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import { CappedLines, LineCap, Tail } from './child-process-output.ts';
import type { Exit, SpawnedScript } from './spawned-script.ts';

/** Errors that only say that the script did not want its input. */
const NOT_READ = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR'];

export class ScriptRun {
  readonly exit: Promise<Exit>;
  /** The error of a child that could not be started; undefined once it runs. */
  readonly spawned: Promise<Error | undefined>;
  /** Resolves when the caller's input threw; pending otherwise. */
  readonly inputFault: Promise<unknown>;
  readonly #script: SpawnedScript;
  readonly #stdout = new CappedLines();
  readonly #stderrTail = new Tail();
  readonly #stderrLines: LineCap;

  constructor(spec: Pick<ScriptSpec, 'onStderr' | 'stdin'>, script: SpawnedScript) {
    this.#stderrLines = new LineCap((line) => spec.onStderr?.(line));
    this.#script = script;
    this.spawned = script.spawned;
    this.exit = script.exit;
    // Whoever waits for the end hears of it there.
    for (const one of [script.exit, script.closed]) one.catch(() => undefined);
    // A pipe that breaks has nothing more to say; the exit does.
    const { stdin, stdout, stderr } = script;
    for (const stream of this.#pipes) stream?.on('error', () => undefined);
    stdout?.on('data', (chunk: Buffer) => {
      this.#stdout.write(chunk);
      giveBack(chunk);
    });
    stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail.write(chunk);
      this.#stderrLines.write(chunk);
      giveBack(chunk);
    });
    for (const stream of [stdout, stderr]) stream?.resume();
    this.inputFault = new Promise((resolve) => {
      if (!spec.stdin || !stdin) return;
      pipeline(Readable.from(spec.stdin), stdin).catch((error: NodeJS.ErrnoException) => {
        if (!NOT_READ.includes(error.code ?? '')) resolve(error);
      });
    });
  }

  get #pipes(): readonly (Readable | Writable | undefined)[] {
    return [this.#script.stdin, this.#script.stdout, this.#script.stderr];
  }

  get group(): number {
    return this.#script.pid;
  }

  /** Waits until nobody holds the output pipes any more, at most `ms`. */
  async drained(ms: number, clock: Clock): Promise<void> {
    if (ms > 0) await settledWithin(clock, ms, this.#script.closed);
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
