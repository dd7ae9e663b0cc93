// Where log lines go: a file that is appended to, or a descriptor; on a terminal as lines to be read.
//
// Lines of one turn of the event loop go out in one write at its end: a lane logs the end of each of the jobs that a turn
// brought. A process that ends or breaks writes what waits before it is gone; only one that is killed within a turn loses
// that turn's lines. Who must not lose them calls `flush`.
//
// What cannot be written (a full disk) costs lines, never jobs: nothing is thrown, the first lines of that time are kept,
// and each further turn that logs tries again.

import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino from 'pino';
import { messageOf } from './failure.ts';
import { readableLine } from './log-lines.ts';

export type LogTarget = { readonly file: string } | { readonly fd: number };

export interface LogOutage {
  /** Nothing can be written from now on; default: says so on standard error, for nobody would find it in the log. */
  readonly failed?: (error: Error) => void;
  /** It is written again; `lost` lines of the time between are missing. */
  readonly recovered?: (lost: number) => void;
}

/** Characters that wait at most for the end of a turn. */
const MOST_WAITING = 65_536;
/** Characters kept while nothing can be written, beside those of the write that failed. */
const KEPT = 4 * 1024 * 1024;

export class LogDestination implements pino.DestinationStream {
  readonly #target: ReturnType<typeof pino.destination>;
  readonly #readable: ((line: string) => string) | undefined;
  readonly #outage: Required<LogOutage>;
  #waiting = '';
  #error: Error | undefined;
  #failing = false;
  #kept = '';
  #lost = 0;

  constructor(to: LogTarget, { failed = tellOf, recovered = () => {} }: LogOutage = {}) {
    // Synchronously: what was written before a crash is there after it.
    const dest = 'file' in to ? { dest: to.file, mode: 0o640 } : { fd: to.fd };
    this.#target = pino.destination({ ...dest, sync: true });
    this.#target.on('error', (error: Error) => {
      this.#error = error;
    });
    // Of the library's own formatter ten packages would have to be carried along, and it writes later than it is told to.
    const coloured = process.stdout.hasColors?.() ?? false;
    this.#readable = 'fd' in to && isatty(to.fd) ? (line) => readableLine(line, coloured) : undefined;
    this.#outage = { failed, recovered };
  }

  write(line: string): void {
    if (this.#waiting === '') {
      process.nextTick(this.flush);
      process.once('exit', this.flush);
    }
    this.#waiting += this.#readable ? this.#readable(line) : line;
    if (this.#waiting.length >= MOST_WAITING) this.flush();
  }

  /** Writes what waits for the end of the turn. */
  readonly flush = (): void => {
    const lines = this.#waiting;
    if (lines === '') return;
    this.#waiting = '';
    process.off('exit', this.flush);
    if (this.#failing) this.#tryAgain(lines);
    else this.#send(lines);
  };

  /** False when it failed: the library then keeps the text, and whatever is written next begins with it. */
  #send(text: string): boolean {
    this.#error = undefined;
    this.#target.write(text);
    const error = this.#error as Error | undefined;
    if (error && !this.#failing) this.#outage.failed(error);
    this.#failing = error !== undefined;
    return !error;
  }

  #tryAgain(lines: string): void {
    if (this.#kept.length + lines.length <= KEPT) this.#kept += lines;
    else this.#lost += lines.split('\n').length - 1;
    if (!this.#send('')) return;
    const { kept, lost } = { kept: this.#kept, lost: this.#lost };
    this.#kept = '';
    this.#lost = 0;
    this.#send(kept);
    this.#outage.recovered(lost);
  }
}

function tellOf(error: Error): void {
  try {
    writeSync(2, `longshore: the log cannot be written: ${messageOf(error)}\n`);
  } catch {
    // Nor can standard error: there is nobody left to tell.
  }
}
