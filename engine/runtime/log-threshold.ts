// The lowest severity that is logged. It may change at any time, and applies to all loggers that share it.

import type { LogLevel } from '../model/log-level.ts';

/** The logging library's numbers. */
const SEVERITY = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: Number.POSITIVE_INFINITY,
} as const satisfies Record<LogLevel, number>;

/** The next level when an operator asks for more detail; from any other level it is info. */
const NEXT: Partial<Record<LogLevel, LogLevel>> = { info: 'debug', debug: 'trace' };

export class LogThreshold {
  #level: LogLevel;

  constructor(level: LogLevel) {
    this.#level = level;
  }

  get level(): LogLevel {
    return this.#level;
  }

  /** Returns the previous level. */
  set(level: LogLevel): LogLevel {
    const before = this.#level;
    this.#level = level;
    return before;
  }

  /** From info to debug, to trace, and back. */
  get next(): LogLevel {
    return NEXT[this.#level] ?? 'info';
  }

  passes(severity: number): boolean {
    return severity >= SEVERITY[this.#level];
  }
}
