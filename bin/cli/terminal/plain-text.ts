// Text of others, made harmless: a name that a server sends may hold what a terminal would obey (move the cursor, change
// its title, write backwards).

import { stripVTControlCharacters } from 'node:util';

/** Marks that turn the direction of writing: what follows them would be read in another order than it stands. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** One line, whatever it was: white space and control characters become a blank. */
export const oneLine = (text: string): string => visible(text).replace(/[\s\p{Cc}]+/gu, ' ');

/** Lines stay lines, and blanks blanks. */
export const plainLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => visible(line).replace(/\p{Cc}+/gu, ' '))
    .join('\n');

const visible = (text: string): string => stripVTControlCharacters(text.toWellFormed()).replace(DIRECTION, '');
