// Sanitizes text from other sources. A name sent by a server may contain control sequences that move the cursor, change the
// terminal's title, or reverse the direction of text.

import { stripVTControlCharacters } from 'node:util';

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
