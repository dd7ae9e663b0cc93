// Who caused a failure: errors of the parsers and zlib mean a damaged archive, errors of the file system are ours.

import { Failure, rejected, transient } from '../runtime/failure.ts';

/**
 * The failure for anything thrown while reading an archive. `what` names the archive or the entry. An aborted signal's reason
 * takes precedence; a programming error is returned unchanged, which makes it a defect.
 */
export function archiveFault(error: unknown, what: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof Failure || !(error instanceof Error)) return error;
  if ('syscall' in error) return transient(`${what}: ${error.message}`, { cause: error });
  const code = 'code' in error ? String(error.code) : '';
  // yauzl and tar-entries.ts throw plain errors; zlib's carry a Z_ code.
  if (code.startsWith('Z_') || (code === '' && error.constructor === Error))
    return rejected(`${what} is damaged: ${error.message}`, { cause: error });
  return error;
}
