// JSON for standard output. Control characters that JSON allows are escaped too, because a terminal may display it.

import { stringifyJson } from '../../../engine/model/json.ts';

const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One document, indented, with a final newline. */
export const jsonDocument = (value: unknown): string => `${safe(stringifyJson(value, 2))}\n`;

/** One document per line, for streams of documents. */
export const jsonLine = (value: unknown): string => `${safe(stringifyJson(value))}\n`;

const safe = (json: string): string =>
  json.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
