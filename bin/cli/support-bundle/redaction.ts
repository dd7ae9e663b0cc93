// Removes what must not leave the installation from a text: secrets of the configuration, and what users wrote.

import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import { secretsIn } from '../../../config/secrets.ts';
import { isObject } from '../../../engine/model/json.ts';

const HIDDEN = '[hidden]';
/** Hiding shorter secrets everywhere would hide ordinary words. They are hidden only in the printed configuration. */
const LEAST = 6;

/**
 * Removes every secret of the configuration, as it is or encoded for a URL or for JSON.
 * @param others secrets that are not in the configuration
 */
export function secretsRemover(document: unknown, others: readonly string[]): (text: string) => string {
  const found = [...secretsIn(ROOT_SCHEMA, document), ...others]
    .filter((secret) => secret.length >= LEAST)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // The longest first: one may contain another.
  const secrets = [...new Set(found)].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let left = text;
    for (const secret of secrets) left = left.replaceAll(secret, HIDDEN);
    return left.replace(CREDENTIALS, `//${HIDDEN}@`).replace(BEARER, `$1${HIDDEN}`);
  };
}

/** User and password in URLs, which may be those of users. */
const CREDENTIALS = /\/\/[^\s/"'@]+@/g;
const BEARER = /((?:bearer|access_token=|token=)\s*)[\w~+/=.-]{8,}/gi;

/** Messages quote names of files, and other text of users. */
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'|‘[^’]*’|“[^”]*”/g;
const QUERY = /(https?:\/\/[^\s?"'<>]*)\?[^\s"'<>]*/g;

export const withoutQuotes = (text: string): string => text.replace(QUERY, '$1?..').replace(QUOTED, "'..'");

/** Keys of log lines and reports whose values are the program's own words. */
const OWN = new Set([
  'level',
  'time',
  'msg',
  'actor',
  'lane',
  'state',
  'kind',
  'event',
  'request',
  'route',
  'method',
  'created',
]);

/** The value with {@link withoutQuotes} applied to every text in it. */
export function valueWithoutQuotes(value: unknown, key = ''): unknown {
  // Where a request came from. Only the audit trail has it, which is not in the bundle.
  if (key === 'address') return HIDDEN;
  if (typeof value === 'string') return OWN.has(key) ? value : withoutQuotes(value);
  if (Array.isArray(value)) return value.map((item) => valueWithoutQuotes(item, key));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, valueWithoutQuotes(item, name)]));
}
