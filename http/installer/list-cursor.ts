// The place where a page of a list ended, as clients get it: opaque, with the version of its format. The digest ties it to one
// list: route, caller, filters and order. Without a secret, because a cursor gives no access: whoever makes one names a place in a
// list that he may read anyway.

import { hash } from 'node:crypto';
import { parseDatasetId } from '../../engine/model/ids.ts';
import { LIST_SORTS, type ListKeyKind, type ListPlace, type ListSort } from '../../engine/ports/dataset-queries.ts';

const VERSION = 1;
const DIGEST_LENGTH = 16;

/** @param list what identifies the list, in one text */
export function cursorOf({ keys, dataset }: ListPlace, list: string): string {
  const place = JSON.stringify([VERSION, ...keys, dataset]);
  return Buffer.from(digestOf(place, list) + place).toString('base64url');
}

/** Undefined when no page of this list ended so. */
export function placeOf(cursor: string, list: string, sort: ListSort): ListPlace | undefined {
  const text = Buffer.from(cursor, 'base64url').toString();
  // Otherwise several texts would be the same cursor.
  if (Buffer.from(text).toString('base64url') !== cursor) return undefined;
  const place = text.slice(DIGEST_LENGTH);
  if (text.slice(0, DIGEST_LENGTH) !== digestOf(place, list)) return undefined;
  let values: unknown;
  try {
    values = JSON.parse(place);
  } catch {
    return undefined;
  }
  const kinds: readonly ListKeyKind[] = LIST_SORTS[sort];
  if (!Array.isArray(values) || values.length !== kinds.length + 2) return undefined;
  const [version, ...texts] = values.map(String);
  const dataset = parseDatasetId(texts.pop() ?? '');
  const isSound = version === String(VERSION) && kinds.every((kind, n) => SOUND[kind](texts[n] ?? ''));
  return isSound && dataset ? { keys: texts, dataset } : undefined;
}

const digestOf = (place: string, list: string): string =>
  hash('sha256', `${list}\n${place}`, 'base64url').slice(0, DIGEST_LENGTH);

/** What the database can read. */
const SOUND: Readonly<Record<ListKeyKind, (text: string) => boolean>> = {
  time: (text) => /^-?\d{1,17}$/.test(text),
  integer: (text) => /^\d{1,18}$/.test(text),
  number: isReal,
  text: (text) => text.length <= 400 && text.isWellFormed() && !text.includes('\0'),
};

/** PostgreSQL refuses numbers that a `real` cannot tell from zero or infinity. */
function isReal(text: string): boolean {
  const real = Math.fround(Number(text));
  return /^\d+(\.\d+)?(e-?\d+)?$/.test(text) && Number.isFinite(real) && (real !== 0 || Number(text) === 0);
}
