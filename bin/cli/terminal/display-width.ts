// Measures how many terminal columns a text takes, and truncates it to fit.

import { eastAsianWidth } from 'get-east-asian-width';

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Fast path for nearly all texts: one column per character. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const EMOJI = /^\p{RGI_Emoji}$/v;
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Mn}\p{Me}]$/u;

/** Width of text without control characters. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Truncates to this many columns; truncated text ends with an ellipsis. */
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

/** Padded with blanks to this many columns. */
export function padTo(width: number, text: string, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'left' ? text + blanks : blanks + text;
}

/** A grapheme takes one or two columns, however many code points it has. */
function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  const first = grapheme.codePointAt(0) ?? 0;
  return INVISIBLE.test(String.fromCodePoint(first)) ? 0 : eastAsianWidth(first);
}
