// JSON on standard output. Control characters that JSON would let through are escaped: it may be read on a terminal.

import { stringifyJson } from '../../../engine/model/json.ts';

const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One document, indented, with its end of line. */
export const jsonDocument = (value: unknown): string => `${safe(stringifyJson(value, 2))}\n`;

/** One document on one line: for streams of them. */
export const jsonLine = (value: unknown): string => `${safe(stringifyJson(value))}\n`;

const safe = (json: string): string =>
  json.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
