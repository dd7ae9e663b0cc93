// Text as PostgreSQL can hold it. Messages of plugins and metadata of users may hold NUL and halves of surrogate pairs,
// which `text` and `jsonb` refuse; they become U+FFFD, since a dataset must not fail over a character of its notes.

const REPLACEMENT = '\ufffd';
/** One escape of JSON text, so that `\\u0000` (an escaped backslash before plain text) is not taken for NUL. */
const JSON_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;

/** For text parameters. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', REPLACEMENT);

/** For jsonb parameters: JSON text made by `JSON.stringify`, which escapes only surrogates that stand alone. */
export function storableJson(json: string): string {
  if (!/\\u(?:0000|d[89a-f])/i.test(json)) return json;
  return json.replace(JSON_ESCAPE, (match, hex: string | undefined) =>
    hex !== undefined && /^(?:0000|d[89a-f]..)$/i.test(hex) ? REPLACEMENT : match,
  );
}
