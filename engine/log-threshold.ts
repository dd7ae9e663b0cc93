// From which severity on log lines are written; may change while loggers are in use, and holds for all that share it.

import type { LogLevel } from './model/log-level.ts';

/** As the logger's library numbers them. */
const SEVERITY = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: Number.POSITIVE_INFINITY,
} as const satisfies Record<LogLevel, number>;

/** Which level comes after which when somebody wants to see more for a while; any other leads back to info. */
const NEXT: Partial<Record<LogLevel, LogLevel>> = { info: 'debug', debug: 'trace' };

export class LogThreshold {
  #level: LogLevel;

  constructor(level: LogLevel) {
    this.#level = level;
  }

  get level(): LogLevel {
    return this.#level;
  }

  /** Gives the level before. */
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
