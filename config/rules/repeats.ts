// Values that must not occur twice.

import type { Cursor } from '../cursor.ts';
import { displayPath } from '../path.ts';
import type { Finding } from '../validate.ts';

export interface Repeat {
  readonly cursor: Cursor;
  /** The first place with the same key. */
  readonly earlier: Cursor;
  readonly key: string;
}

/** Each cursor whose key an earlier one has; those without a key are passed over. */
export function repeats(cursors: readonly Cursor[], keyOf: (cursor: Cursor) => string | undefined): readonly Repeat[] {
  const first = new Map<string, Cursor>();
  return cursors.flatMap((cursor) => {
    const key = keyOf(cursor);
    const earlier = key === undefined ? undefined : first.get(key);
    if (key !== undefined && !earlier) first.set(key, cursor);
    return key !== undefined && earlier ? [{ cursor, earlier, key }] : [];
  });
}

/** `what` is what stands at the cursor, in words. */
export const repeatFinding = ({ cursor, earlier }: Repeat, what: string, allowed: string): Finding => ({
  path: cursor.path,
  found: `${what}, as at ${displayPath(earlier.path)}`,
  allowed,
});
