// Structured logs: pino, one child logger per actor, constant messages, data in fields. Keys that may appear:
// actor, lane, dataset, owner, target, plugin, event, request, err. Secrets are redacted by name wherever they stand.
//   info  a state change      warn  coped with, worth knowing      error  a person should look

import { isatty } from 'node:tty';
import pino from 'pino';
import { defect } from './failure.ts';
import { readableLine } from './log-lines.ts';
import { LogThreshold } from './log-threshold.ts';
import type { LogLevel } from './model/log-level.ts';

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
  readonly to: { readonly file: string } | { readonly fd: number };
}

/** JSON lines, on a terminal lines to be read; written synchronously so that the last one before a crash is not lost. */
export function createLogger(options: LogOptions): Logger {
  const threshold = options.level instanceof LogThreshold ? options.level : new LogThreshold(options.level);
  const log = pino(
    {
      // The library keeps the level of each child by itself; ours is asked at each line.
      level: 'trace',
      hooks: {
        logMethod(args, method, severity) {
          if (threshold.passes(severity)) method.apply(this, args);
        },
      },
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_FIELDS.flatMap((field) =>
          field.includes('.') || field.includes('[') ? [field] : [field, `*.${field}`],
        ),
        censor: '[hidden]',
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    destinationOf(options.to),
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

function destinationOf(to: LogOptions['to']): pino.DestinationStream {
  if ('file' in to) return pino.destination({ dest: to.file, mode: 0o640, sync: true });
  const destination = pino.destination({ fd: to.fd, sync: true });
  if (!isatty(to.fd)) return destination;
  // Of the library's own formatter ten packages would have to be carried along, and it writes later than it is told to.
  const coloured = process.stdout.hasColors?.() ?? false;
  return { write: (line) => void destination.write(readableLine(line, coloured)) };
}

/** A logger that writes nothing; for tests and one-shot commands. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
