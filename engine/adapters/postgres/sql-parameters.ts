// Collects the values of one statement that is assembled from constant pieces, so that a value never becomes SQL text.

import { hash } from 'node:crypto';

export class SqlParameters {
  readonly #values: unknown[] = [];

  get values(): readonly unknown[] {
    return this.#values;
  }

  /** Returns the placeholder for a value, cast to its type: `$3::text[]`. */
  add(value: unknown, type: SqlType): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }
}

export type SqlType =
  | 'text'
  | 'text[]'
  | 'jsonb'
  | 'boolean'
  | 'boolean[]'
  | 'smallint'
  | 'integer'
  | 'integer[]'
  | 'bigint'
  | 'bigint[]'
  | 'numeric'
  | 'numeric[]'
  | 'timestamptz'
  | 'timestamptz[]';

// Names for statements that run often, so that each connection plans them once: planning is half the time of a small statement.
// Use it only for a bounded number of texts, because each connection keeps them.

/** The same for the same text; fits into PostgreSQL's 63 characters. */
export const statementName = (text: string): string => `h${hash('sha1', text, 'base64url')}`;

// Makes text storable in PostgreSQL. Plugin messages and user metadata may contain NUL and lone surrogates, which `text` and
// `jsonb` reject. They are replaced by U+FFFD, because a dataset must not fail over a character in its notes.

const REPLACEMENT = '\ufffd';
/** One escape sequence of JSON text, so that `\\u0000` (an escaped backslash before plain text) is not mistaken for NUL. */
const JSON_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;

/** For text parameters. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', REPLACEMENT);

/** For jsonb parameters: JSON text from `JSON.stringify`, which escapes only lone surrogates. */
export function storableJson(json: string): string {
  if (!/\\u(?:0000|d[89a-f])/i.test(json)) return json;
  return json.replace(JSON_ESCAPE, (match, hex: string | undefined) =>
    hex !== undefined && /^(?:0000|d[89a-f]..)$/i.test(hex) ? REPLACEMENT : match,
  );
}
