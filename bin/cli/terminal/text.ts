// Text for people and for programs: of others made harmless, and bytes, rates and durations.

import { stripVTControlCharacters } from 'node:util';
import { stringifyJson } from '../../../engine/model/json.ts';

// Sanitizes text from other sources. A name sent by a server may contain control sequences that move the cursor, change the
// terminal's title, or reverse the direction of text.

/** Bidirectional control characters: they would display the following text in a different order. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Collapses white space and control characters to single blanks, so that the text is one line. */
export const oneLine = (text: string): string => visible(text).replace(/[\s\p{Cc}]+/gu, ' ');

/** Sanitizes each line; line breaks and blanks are kept. */
export const plainLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => visible(line).replace(/\p{Cc}+/gu, ' '))
    .join('\n');

const visible = (text: string): string => stripVTControlCharacters(text.toWellFormed()).replace(DIRECTION, '');

// JSON for standard output. Control characters that JSON allows are escaped too, because a terminal may display it.

const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One document, indented, with a final newline. */
export const jsonDocument = (value: unknown): string => `${safe(stringifyJson(value, 2))}\n`;

/** One document per line, for streams of documents. */
export const jsonLine = (value: unknown): string => `${safe(stringifyJson(value))}\n`;

const safe = (json: string): string =>
  json.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

// Human-readable bytes, rates and durations.

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Three digits and a decimal unit: `12.3 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  // 999.5 would be rounded to 1000.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : digits(value)} ${UNITS[unit]}`;
}

/** `0.42`, `4.2`, `42`: only as many digits as are significant. */
export function digits(value: number): string {
  if (value >= 99.5) return value.toFixed(0);
  return value >= 9.95 ? value.toFixed(1) : value.toFixed(value === 0 ? 0 : 2);
}

/** The two largest units: `4 s`, `1 m 10 s`, `3 h 5 m`, `2 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  const hours = Math.round(whole / 3_600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
