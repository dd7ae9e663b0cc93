// Which keys objects may have, in every store.

import { defect } from '../../runtime/failure.ts';

const MAX_KEY_BYTES = 1024;

/**
 * Keys are relative, of non-empty segments other than `.` and `..`, at most 1,024 bytes, without NUL; a backslash is a
 * letter like any other here. Anything else is a bug of the caller.
 */
export function demandAllowedKey(key: string): void {
  const segments = key.split('/');
  const clean = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  // A lone surrogate would become another character in UTF-8 and so another key.
  if (!clean || key.includes('\0') || !key.isWellFormed() || Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw defect(`object key ${JSON.stringify(key)} is not allowed`);
}
