// Which keys objects may have, in every store.

import { defect } from '../../runtime/failure.ts';

const MAX_KEY_BYTES = 1024;

/**
 * Keys are relative paths of non-empty segments other than `.` and `..`, at most 1,024 bytes, without NUL. A backslash is an
 * ordinary character. Any other key is a defect of the caller.
 */
export function demandAllowedKey(key: string): void {
  const segments = key.split('/');
  const clean = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  // UTF-8 encoding would replace a lone surrogate, which changes the key.
  if (!clean || key.includes('\0') || !key.isWellFormed() || Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw defect(`object key ${JSON.stringify(key)} is not allowed`);
}
