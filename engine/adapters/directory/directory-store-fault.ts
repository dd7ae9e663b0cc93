// Maps file system errors to failures of the object store.

import { defect, Failure, transient } from '../../runtime/failure.ts';

/** A key that is another key's folder, or a folder in place of a file. Longshore creates no such keys. */
const CLASHES = new Set(['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY', 'ENAMETOOLONG', 'ELOOP']);

/** Converts file system errors into failures that say what was being done. Other errors are returned unchanged. */
export function storeFault(error: unknown, what: string): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  const message = `${what}: ${error.message}`;
  return CLASHES.has(codeOf(error) ?? '') ? defect(message, { cause: error }) : transient(message, { cause: error });
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
