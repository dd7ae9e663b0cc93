// One child process with its three pipes. Feeds it, reads its output to the end, and closes the pipes even if another process
// holds them open.

import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ScriptResult, ScriptSpec } from '../../ports/script-runner.ts';
import { giveBack } from '../../runtime/give-back.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import { CappedLines, LineCap, Tail } from './child-process-output.ts';
import type { Exit, SpawnedScript } from './spawned-script.ts';

/** Errors that only mean that the script did not read its input. */
const NOT_READ = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR'];

export class ScriptRun {
  readonly exit: Promise<Exit>;
  /** Resolves with the error if the child could not be started, or with undefined once it runs. */
  readonly spawned: Promise<Error | undefined>;
  /** Resolves when the caller's input threw; otherwise stays pending. */
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
    // Callers that await `exit` get the error there.
    for (const one of [script.exit, script.closed]) one.catch(() => undefined);
    // Errors of a pipe are ignored: the exit status tells what happened.
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

  /** Waits until no process holds the output pipes, at most `ms`. */
  async drained(ms: number, clock: Clock): Promise<void> {
    if (ms > 0) await settledWithin(clock, ms, this.#script.closed);
  }

  async output(ms: number, clock: Clock): Promise<Pick<ScriptResult, 'stdout' | 'stderrTail'>> {
    await this.drained(ms, clock);
    this.close();
    this.#stderrLines.end();
    return { stdout: this.#stdout.end(), stderrTail: this.#stderrTail.end() };
  }

  /** Closes the pipes even if other processes hold the other ends. */
  close(): void {
    for (const stream of this.#pipes) stream?.destroy();
  }
}
