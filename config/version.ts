// A version as text: what stands in the file, so that 1.0 and '1.0' are one version and 1 is another.

import type { Cursor } from './cursor.ts';
import type { Written } from './validate.ts';

/** Undefined for anything but text and numbers. */
export function versionText(version: Cursor, written: Written): string | undefined {
  if (version.number === undefined) return version.text;
  const text = written(version.path);
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? text : String(version.number);
}
