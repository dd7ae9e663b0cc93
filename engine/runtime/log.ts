// Structured logs: pino, one child logger per actor, constant messages, data in fields. Keys that may appear: actor, lane,
// dataset, owner, target, plugin, event, request, err. Secrets are hidden by name at any depth.
//   info  a state change      warn  coped with, worth knowing      error  a person should look

import pino from 'pino';
import type { LogLevel } from '../model/log-level.ts';
import { LogDestination, type LogTarget } from './log-destination.ts';

export type Logger = pino.Logger;

/** Names of fields. */
const SECRETS: ReadonlySet<string> = new Set([
  'password',
  'bindPassword',
  'secretKey',
  'accessToken',
  'adminToken',
  'token',
  'authorization',
  'admin-token',
  'cookie',
]);
const ANY_SECRET = new RegExp(`"(?:${[...SECRETS].join('|')})":`);

/** Few lines have such a field. To look for one in the text of a line costs less than to look through its fields. */
function withoutSecrets(line: string): string {
  if (!ANY_SECRET.test(line)) return line;
  return `${JSON.stringify(JSON.parse(line, (name, value) => (SECRETS.has(name) ? '[hidden]' : value)))}\n`;
}

export interface LogOptions {
  /** Fixed, or a threshold that may change; a change applies to every child, including existing ones. */
  readonly level: LogLevel | LogThreshold;
  /** A file that is appended to, or a descriptor; 1 is standard output. */
  readonly to: LogTarget;
  /** Gets each line as well. */
  readonly recent?: { add(line: string): void };
}

/** Lines of this severity or above are written at once, not at the end of the turn. 40 is a warning in pino. */
const AT_ONCE = 40;

/** Creates a logger that writes JSON lines, or readable lines to a terminal. For lost lines see log-destination.ts. */
export function createLogger(options: LogOptions): Logger {
  const threshold = options.level instanceof LogThreshold ? options.level : new LogThreshold(options.level);
  const { recent } = options;
  const destination = new LogDestination(options.to, {
    recovered: (lost) => log.warn({ lost }, 'the log is written again'),
  });
  const log: Logger = pino(
    {
      // The library stores a level per child; we check ours at each line.
      level: 'trace',
      hooks: {
        logMethod(args, method, severity) {
          if (!threshold.passes(severity)) return;
          method.apply(this, args);
          if (severity >= AT_ONCE) destination.flush();
        },
        streamWrite: withoutSecrets,
      },
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    recent ? both(recent, destination) : destination,
  );
  return Object.assign(log, {
    isLevelEnabled: (level: string) => threshold.passes(log.levels.values[level] ?? Number.NaN),
  });
}

const both = (recent: { add(line: string): void }, destination: LogDestination): pino.DestinationStream => ({
  write(line) {
    recent.add(line);
    destination.write(line);
  },
});

/** A logger that writes nothing; for tests and one-shot commands. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

// The lowest severity that is logged. It may change at any time, and applies to all loggers that share it.

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
