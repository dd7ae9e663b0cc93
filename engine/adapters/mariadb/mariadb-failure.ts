// Errors of MariaDB as failure kinds. Those that the server reports have a number.

import { Failure, messageOf } from '../../runtime/failure.ts';

/** Number of an error that the server reported; undefined for anything else. */
export function serverError(error: unknown): number | undefined {
  const { errno } = ((error instanceof Failure ? error.cause : error) ?? {}) as { readonly errno?: unknown };
  // Those of the system are negative.
  return typeof errno === 'number' && errno > 0 ? errno : undefined;
}

/** Wrong password, unknown user or database: the operator can fix them while we run. */
export const DENIED: ReadonlySet<number> = new Set([1044, 1045, 1698, 4151]);
export const NO_DATABASE = 1049;
/** Too many connections: of the server, or of the user. */
export const FULL: ReadonlySet<number> = new Set([1040, 1203, 1226]);
const DEADLOCK: ReadonlySet<number> = new Set([1020, 1213]);
/** The host is blocked or unknown, the server shuts down, the connection was killed. */
const AWAY: ReadonlySet<number> = new Set([1053, 1129, 1130, 1152, 1158, 1159, 1160, 1161, 1184, 1927]);
/** Disk or memory full, lock not granted in time, statement ended or too long, read-only, no member of a cluster now. */
const PASSING: ReadonlySet<number> = new Set([
  ...[1021, 1037, 1038, 1041, 1047, 1114, 1135, 1205, 1290, 1317, 1461, 1792, 1836, 1969],
]);

export const isDeadlock = (error: unknown): boolean => DEADLOCK.has(serverError(error) ?? 0);
export const isFull = (error: unknown): boolean => FULL.has(serverError(error) ?? 0);

/** Like `postgresFailure`. */
export function mariaDbFailure(error: unknown, where: string): unknown {
  if (error instanceof Failure || (error instanceof Error && error.name === 'AbortError')) return error;
  const number = serverError(error);
  const text = `${where}: ${messageOf(error)}`;
  // An error of our own, before anything was sent.
  if (error instanceof TypeError) return new Failure('defect', text, { cause: error });
  const away = number === undefined || number === NO_DATABASE || DENIED.has(number) || AWAY.has(number);
  if (away || FULL.has(number) || DEADLOCK.has(number) || PASSING.has(number))
    return new Failure('transient', text, { cause: error, lack: 'database', unreachable: away });
  return new Failure('defect', text, { cause: error });
}
