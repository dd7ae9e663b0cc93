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
