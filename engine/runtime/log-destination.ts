// Where log lines go: a file that is appended to, or a descriptor; on a terminal in a readable form.
//
// The lines of a turn of the event loop are written together at its end, because many jobs of a lane may end in one turn. A
// process that exits or crashes writes the buffered lines first. Only a process that is killed loses the lines of its last
// turn. Callers that must not lose lines call `flush`.
//
// When writing fails (a full disk), lines may be lost, but jobs continue. Nothing is thrown, and the first lines are kept in
// memory. Each further turn that logs retries the write.

import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino from 'pino';
import { messageOf } from './failure.ts';
import { readableLine } from './log-lines.ts';

export type LogTarget = { readonly file: string } | { readonly fd: number };

export interface LogOutage {
  /** Called when writing starts to fail. Default: reports it on standard error, because the log cannot. */
  readonly failed?: (error: Error) => void;
  /** Called when writing works again; `lost` lines are missing. */
  readonly recovered?: (lost: number) => void;
}

/** Most characters that wait for the end of a turn. */
const MOST_WAITING = 65_536;
/** Characters kept while writing fails, in addition to those of the write that failed. */
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
    // Synchronous, so that lines written before a crash are not lost.
    const dest = 'file' in to ? { dest: to.file, mode: 0o640 } : { fd: to.fd };
    this.#target = pino.destination({ ...dest, sync: true });
    this.#target.on('error', (error: Error) => {
      this.#error = error;
    });
    // The library's own formatter needs ten more packages and does not write synchronously.
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

  /** Writes the lines that wait for the end of the turn. */
  readonly flush = (): void => {
    const lines = this.#waiting;
    if (lines === '') return;
    this.#waiting = '';
    process.off('exit', this.flush);
    if (this.#failing) this.#tryAgain(lines);
    else this.#send(lines);
  };

  /** False when writing failed: the library then keeps the text and puts it before the next write. */
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
    // Standard error failed, too: there is nowhere left to report it.
  }
}
