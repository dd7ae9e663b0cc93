// JSON that keeps integers above 2^53. User ids go up to 2^63, so `JSON.parse` alone would corrupt them.

import { Failure } from '../failure.ts';

/** Fields that hold a user id, in every document we read or write. */
const USER_ID_FIELDS = new Set(['owner', 'user', 'userId', 'userID', 'guestID']);

/**
 * Parses JSON; numbers under the user id fields become decimal text. Throws the engine's SyntaxError otherwise.
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, reviveUserIds as (key: string, value: unknown) => unknown);
}

function reviveUserIds(key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && USER_ID_FIELDS.has(key) && context.source !== undefined ? context.source : value;
}

/** Serialises; text under the user id fields that is a whole number is written as a JSON number, digit for digit. */
export function stringifyJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (key, item) =>
      USER_ID_FIELDS.has(key) && typeof item === 'string' && /^[0-9]{1,19}$/.test(item) ? rawJson(item) : item,
    indent,
  );
}

function rawJson(digits: string): unknown {
  // Not yet in the type library: https://github.com/tc39/proposal-json-parse-with-source
  const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
  if (!raw) throw new Failure('defect', 'this Node.js has no JSON.rawJSON; Node 26 is needed');
  return raw(digits);
}
