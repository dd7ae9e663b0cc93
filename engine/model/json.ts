// JSON that keeps integers above 2^53. User ids go up to 2^63, so `JSON.parse` alone would corrupt them.
//
// We change the text, before it is parsed and after it is written: a function that is called for every member of a document
// takes four times as long as everything else. Inside a JSON string a quote has a backslash before it. So a quoted name that
// follows a brace, a comma or white space and has a colon after it is always a member name.

/** Fields that hold a user id, in every document we read or write. */
const NAMES = '"(?:owner|user|userId|userID|guestID)"';
/**
 * Endings of these fields with text as their value. Each starts with its rare characters, because the search looks for the
 * start first.
 */
const ENDINGS = ['wner":"', 'user":"', 'Id":"', 'ID":"'];
const NUMBER = '-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?';
const WITH_NUMBER = new RegExp(`([{,\\s]${NAMES}\\s*:\\s*)(${NUMBER})(?=[\\s,}])`, 'g');
const WITH_DIGITS = new RegExp(`([{,\\s]${NAMES}: ?)"(0|[1-9][0-9]{0,18})"(?=[\\s,}])`, 'g');

/**
 * Parses JSON; numbers under the user id fields become decimal text. Throws the engine's SyntaxError otherwise.
 */
export function parseJson(text: string): unknown {
  // Only with this escape can the name of such a field be spelled differently.
  if (text.includes('\\u')) return JSON.parse(text, reviveUserIds as (key: string, value: unknown) => unknown);
  return JSON.parse(text.replace(WITH_NUMBER, '$1"$2"'));
}

/** True for what JSON calls an object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value for a message. */
export const shown = (value: unknown): string =>
  value === undefined ? 'missing' : `'${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)}'`;

const FIELDS = new Set(['owner', 'user', 'userId', 'userID', 'guestID']);

function reviveUserIds(key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && FIELDS.has(key) && context.source !== undefined ? context.source : value;
}

/**
 * Serializes; under the user id fields, text that is a whole number is written as a JSON number, digit for digit. Returns
 * undefined for values that JSON cannot express, whatever the type says.
 * @param indent spaces
 */
export function stringifyJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) as string | undefined;
  return indent === undefined && text !== undefined && !mayHoldUserId(text)
    ? text
    : (text?.replace(WITH_DIGITS, '$1$2') as string);
}

/** Searching for the endings of the fields is several times as fast as searching for the fields. */
function mayHoldUserId(text: string): boolean {
  return ENDINGS.some((ending) => text.includes(ending));
}
