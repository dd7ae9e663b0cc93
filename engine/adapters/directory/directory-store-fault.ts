// What a file system error means for the object store.

import { defect, Failure, transient } from '../../runtime/failure.ts';

/** A key that is another key's folder, or a folder where a file should be: no store of ours makes such keys. */
const CLASHES = new Set(['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY', 'ENAMETOOLONG', 'ELOOP']);

/** Failures and foreign errors pass; file system errors become failures that say what was being done. */
export function storeFault(error: unknown, what: string): unknown {
  if (error instanceof Failure || !(error instanceof Error) || !('syscall' in error)) return error;
  const message = `${what}: ${error.message}`;
  return CLASHES.has(codeOf(error) ?? '') ? defect(message, { cause: error }) : transient(message, { cause: error });
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
