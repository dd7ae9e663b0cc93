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

export type LogTarget = { readonly file: string } | { readonly fd: number };

interface LogOutage {
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
      setImmediate(this.flush);
      process.on('exit', this.flush);
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
    if (this.#failing) this.#retry(lines);
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

  #retry(lines: string): void {
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

// Formats a log line for a person at a terminal, from the JSON line that a file would get:
//   12:34:56.789 WARN  install  job failed  dataset=abc event=7 ms=12
// An error's stack follows, indented. Control characters are escaped, because some logged text comes from strangers, and a
// terminal would interpret them.

const COLOURS: Readonly<Record<string, string>> = { info: '32', warn: '33', error: '31', fatal: '35' };
const PLAIN = /^[\w.:/@+-]+$/;

/** @param json one line, with or without its line feed; returned unchanged when it is not a JSON object */
export function readableLine(json: string, coloured: boolean): string {
  const record = parsed(json);
  if (!record) return json;
  const { time, level, msg, pid: _, actor, lane, err, ...rest } = record;
  const paint = (code: string, text: string): string => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
  const name = String(level).toUpperCase().padEnd(5);
  const fields = Object.entries({ ...rest, ...shortError(err) }).map(([key, value]) => `${key}=${valueText(value)}`);
  const line = [
    paint('2', String(time).slice(11, 23)),
    paint(COLOURS[String(level)] ?? '2', name),
    escaped(String(lane ?? actor ?? '-').padEnd(12)),
    escaped(String(msg)),
    ...(fields.length > 0 ? [paint('2', fields.join(' '))] : []),
  ].join(' ');
  return `${line}\n${stackLines(err)}`;
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(json);
    return typeof record === 'object' && record !== null ? (record as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** For an error with a stack, the line has only its kind, because the stack repeats its message. */
function shortError(err: unknown): { readonly err?: unknown } {
  if (err === undefined) return {};
  return typeof err === 'object' && err !== null && 'stack' in err ? {} : { err };
}

function stackLines(err: unknown): string {
  if (typeof err !== 'object' || err === null || !('stack' in err)) return '';
  const lines = String(err.stack).split('\n');
  return lines.map((line) => `    ${escaped(line.trim())}\n`).join('');
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && PLAIN.test(value)) return value;
  return escaped(JSON.stringify(value) ?? 'undefined');
}

const escaped = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
