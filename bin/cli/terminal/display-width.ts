// How many columns of a terminal a text takes, and cutting it to fit.

import { eastAsianWidth } from 'get-east-asian-width';

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Nearly all text is this: a column for each character. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const EMOJI = /^\p{RGI_Emoji}$/v;
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Mn}\p{Me}]$/u;

/** Of text without control characters. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** At most so many columns: the end of what is longer becomes an ellipsis. */
export function cutTo(width: number, text: string): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return '';
  let cut = '';
  let left = width - 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    left -= graphemeWidth(segment);
    if (left < 0) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** Filled up with blanks to so many columns. */
export function padTo(width: number, text: string, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'left' ? text + blanks : blanks + text;
}

/** What is drawn as one sign takes one or two columns, however many code points it has. */
function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  const first = grapheme.codePointAt(0) ?? 0;
  return INVISIBLE.test(String.fromCodePoint(first)) ? 0 : eastAsianWidth(first);
}
