// One child process with its three pipes. Feeds it, reads its output to the end, and closes the pipes even if another process
// holds them open.

import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ScriptResult, ScriptSpec } from '../../ports/script-runner.ts';
import { giveBack } from '../../runtime/give-back.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
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

  /** Of the group's leader, if it is known. */
  get startTime(): string | undefined {
    return this.#script.startTime;
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

// Collects a script's output in bounded memory. Lines are split as bytes and decoded as a whole, so that a character that was
// split over two reads is preserved.

const LF = 0x0a;
const CR = 0x0d;
const MAX_LINES = 10_000;
const MAX_LINE_BYTES = 16 * 1024;
const MAX_BYTES = 4 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

/**
 * Splits bytes into lines, without line ends. A line over 16 KiB is truncated and marked as such. After `skip`, lines are only
 * counted: a gigabyte of output that nobody reads must not cost CPU time.
 */
export class LineSplitter {
  readonly #emit: (line: string, cut: boolean) => void;
  #parts: Buffer[] = [];
  #held = 0;
  #cut = false;
  #open = false;
  #skipping = false;
  /** Lines since `skip`. */
  skipped = 0;

  constructor(emit: (line: string, cut: boolean) => void) {
    this.#emit = emit;
  }

  skip(): void {
    this.#skipping = true;
  }

  write(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      this.#hold(chunk.subarray(from, at));
      this.#line();
      from = at + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** Emits the last line even without a line end. */
  end(): void {
    if (this.#open) this.#line();
  }

  #hold(bytes: Buffer): void {
    this.#open = true;
    if (this.#skipping) return;
    const room = MAX_LINE_BYTES - this.#held;
    if (bytes.length > room) this.#cut = true;
    const kept = bytes.subarray(0, room);
    if (kept.length === 0) return;
    // Copied: a short rest of a line must not keep the whole read buffer in memory.
    this.#parts.push(Buffer.from(kept));
    this.#held += kept.length;
  }

  #line(): void {
    if (this.#skipping) {
      this.#open = false;
      this.skipped++;
      return;
    }
    let bytes = this.#parts.length === 1 ? (this.#parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#parts);
    if (this.#cut) bytes = bytes.subarray(0, wholeCharacters(bytes));
    else if (bytes.at(-1) === CR) bytes = bytes.subarray(0, -1);
    const cut = this.#cut;
    this.#parts = [];
    this.#held = 0;
    this.#cut = false;
    this.#open = false;
    this.#emit(bytes.toString('utf8'), cut);
  }
}

/** Passes the first lines: up to 10,000 lines, 16 KiB per line and 4 MiB in total. A note replaces the rest. */
export class LineCap {
  readonly #emit: (line: string) => void;
  readonly #splitter = new LineSplitter((line, cut) => this.#take(line, cut));
  #lines = 0;
  #bytes = 0;
  #full = false;
  #shortened = 0;

  constructor(emit: (line: string) => void) {
    this.#emit = emit;
  }

  write(chunk: Buffer): void {
    this.#splitter.write(chunk);
  }

  end(): void {
    this.#splitter.end();
    const { skipped } = this.#splitter;
    const dropped = skipped + (this.#full ? 1 : 0);
    if (dropped === 0 && this.#shortened === 0) return;
    const note = [
      ...(dropped > 0 ? [`${dropped} more lines omitted`] : []),
      ...(this.#shortened > 0 ? [`${this.#shortened} lines truncated at ${MAX_LINE_BYTES} bytes`] : []),
    ];
    this.#emit(`[output truncated: ${note.join(', ')}]`);
  }

  #take(line: string, cut: boolean): void {
    const size = Buffer.byteLength(line) + 1;
    if (this.#lines >= MAX_LINES || this.#bytes + size > MAX_BYTES) {
      // This line is the first that is dropped.
      this.#full = true;
      this.#splitter.skip();
      return;
    }
    if (cut) this.#shortened++;
    this.#lines++;
    this.#bytes += size;
    this.#emit(line);
  }
}

/** Collects the lines that the cap passes. */
export class CappedLines {
  readonly #lines: string[] = [];
  readonly #cap = new LineCap((line) => this.#lines.push(line));

  write(chunk: Buffer): void {
    this.#cap.write(chunk);
  }

  end(): readonly string[] {
    this.#cap.end();
    return this.#lines;
  }
}

/** Keeps a copy of the last 64 KiB. */
export class Tail {
  #space = Buffer.alloc(0);
  #held = 0;
  #bytes = 0;

  write(chunk: Buffer): void {
    const last = chunk.subarray(-TAIL_BYTES);
    if (this.#space.length === 0) this.#space = Buffer.allocUnsafeSlow(2 * TAIL_BYTES);
    if (this.#held + last.length > this.#space.length) {
      const kept = Math.min(this.#held, TAIL_BYTES);
      this.#space.copyWithin(0, this.#held - kept, this.#held);
      this.#held = kept;
    }
    last.copy(this.#space, this.#held);
    this.#held += last.length;
    this.#bytes += chunk.length;
  }

  end(): string {
    const tail = this.#space.subarray(Math.max(0, this.#held - TAIL_BYTES), this.#held);
    let from = 0;
    if (this.#bytes > TAIL_BYTES) while (from < 4 && isContinuation(tail[from])) from++;
    return tail.subarray(from).toString('utf8');
  }
}

/** Length without a character that was cut at the end. */
function wholeCharacters(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && isContinuation(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? start : bytes.length;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
