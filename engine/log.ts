// Structured logs: pino, one child logger per actor, constant messages, data in fields. Keys that may appear:
// actor, lane, dataset, owner, target, plugin, event, request, err. Secrets are redacted by name wherever they stand.
//   info  a state change      warn  coped with, worth knowing      error  a person should look

import pino from 'pino';
import { defect } from './failure.ts';
import { LogDestination, type LogTarget } from './log-destination.ts';
import { LogThreshold } from './log-threshold.ts';
import type { LogLevel } from './model/log-level.ts';
import { systemClock } from './time.ts';

export type Logger = pino.Logger;

const SECRET_FIELDS = [
  'password',
  'secretKey',
  'accessToken',
  'adminToken',
  'token',
  'authorization',
  'headers.authorization',
  'headers["admin-token"]',
  'headers.cookie',
];

export interface LogOptions {
  /** Fixed, or one that may change: for every child too, those made before included. */
  readonly level: LogLevel | LogThreshold;
  /** A file that is appended to, or a descriptor; 1 is standard output. */
  readonly to: LogTarget;
}

/** Severity from which on a line does not wait for the end of its turn; as the library numbers them: a warning. */
const AT_ONCE = 40;

/** JSON lines, on a terminal lines to be read; what may be lost of them, and when: log-destination.ts. */
export function createLogger(options: LogOptions): Logger {
  const threshold = options.level instanceof LogThreshold ? options.level : new LogThreshold(options.level);
  const destination = new LogDestination(options.to, {
    recovered: (lost) => log.warn({ lost }, 'the log is written again'),
  });
  const log: Logger = pino(
    {
      // The library keeps the level of each child by itself; ours is asked at each line.
      level: 'trace',
      hooks: {
        logMethod(args, method, severity) {
          if (!threshold.passes(severity)) return;
          method.apply(this, args);
          if (severity >= AT_ONCE) destination.flush();
        },
      },
      base: { pid: process.pid },
      timestamp: timeField(),
      redact: {
        paths: SECRET_FIELDS.flatMap((field) =>
          field.includes('.') || field.includes('[') ? [field] : [field, `*.${field}`],
        ),
        censor: '[hidden]',
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  passPlainValues(log);
  return Object.assign(log, {
    isLevelEnabled: (level: string) => threshold.passes(log.levels.values[level] ?? Number.NaN),
  });
}

/**
 * The library looks for secrets in every single value of a line, texts and numbers too, which takes longer than all else
 * that a line costs. Only what has fields of its own can hide one; a field with a secret's name is censored before this.
 */
function passPlainValues(log: Logger): void {
  const { stringifiersSym, wildcardFirstSym } = pino.symbols;
  const stringifiers = (log as unknown as Record<symbol, Record<symbol, (value: unknown) => unknown>>)[stringifiersSym];
  const redacted = stringifiers?.[wildcardFirstSym];
  if (!stringifiers || !redacted) throw defect('the logging library keeps its redaction elsewhere');
  stringifiers[wildcardFirstSym] = (value) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? JSON.stringify(value)
      : redacted(value);
}

/** The time of a line in ISO 8601; a text for all lines of a millisecond, for making it takes as long as writing the line. */
function timeField(): () => string {
  let at = Number.NaN;
  let field = '';
  return () => {
    const now = systemClock.now();
    if (now !== at) field = `,"time":"${new Date(now).toISOString()}"`;
    at = now;
    return field;
  };
}

/** A logger that writes nothing; for tests and one-shot commands. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
