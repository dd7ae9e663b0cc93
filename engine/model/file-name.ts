// A user's file name is a label, never a path (docs/design/decisions.md#ids-and-object-layout).

import { hiddenCharacter, hiddenWords } from './hidden-characters.ts';

const MAX_BYTES = 255;

/**
 * The name as we store it (NFC), or what is wrong with it: no separators, no control characters, not `.` or `..`, 1..255 bytes
 * of UTF-8.
 * @param stored for a file that may have been stored before the rules were this strict
 */
export function checkFileName(raw: string, stored = false): { readonly name: string } | { readonly fault: string } {
  const name = raw.normalize('NFC');
  if (name === '') return { fault: 'is empty' };
  if (name === '.' || name === '..') return { fault: `must not be '${name}'` };
  if (/[/\\]/.test(name)) return { fault: 'must not hold / or \\' };
  const hidden = hiddenCharacter(name);
  if (hidden && !(stored && /^\P{Cc}*$/u.test(name))) return { fault: `must not hold ${hiddenWords(hidden)}` };
  if (!name.isWellFormed()) return { fault: 'must not hold half of a surrogate pair' };
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_BYTES) return { fault: `is longer than ${MAX_BYTES} bytes: it has ${bytes}` };
  return { name };
}

/** Names are unique per folder regardless of case; two names clash when their keys are equal. */
export const fileNameKey = (name: string): string => name.normalize('NFC').toLowerCase();

/** Prefix of the files that we store beside those of a dataset. */
export const RESERVED_PREFIX = 'vdi-';
const METADATA = 'vdi-meta.json';

/**
 * Why a user's file cannot have the name, or undefined. Our own file would replace it.
 * @param path relative, `/` between folders; names inside folders are free
 */
export function reservedNameFault(path: string): string | undefined {
  if (!path.startsWith(RESERVED_PREFIX) && path.toLowerCase() !== METADATA) return undefined;
  return `is a reserved name: names that begin with '${RESERVED_PREFIX}' are those of our own files; leave it out or rename it`;
}
