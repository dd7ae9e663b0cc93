// Structured logs: pino, one child logger per actor, constant messages, data in fields. Keys that may appear:
// actor, lane, dataset, owner, target, plugin, event, request, err. Secrets are redacted by name wherever they stand.
//   info  a state change      warn  coped with, worth knowing      error  a person should look

import pino from 'pino';

export type Logger = pino.Logger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

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
  readonly level: LogLevel;
  /** A file that is appended to, or a descriptor; 1 is standard output. */
  readonly to: { readonly file: string } | { readonly fd: number };
}

/** JSON lines, written synchronously so that the last line before a crash is not lost. */
export function createLogger(options: LogOptions): Logger {
  return pino(
    {
      level: options.level,
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
    pino.destination({
      ...('file' in options.to ? { dest: options.to.file, mode: 0o640 } : { fd: options.to.fd }),
      sync: true,
    }),
  );
}

/** A logger that writes nothing; for tests and one-shot commands. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
