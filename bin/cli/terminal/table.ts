// Tables whose columns are as wide as their widest cell. If the terminal is too narrow, the widest columns shrink and their
// truncated cells end with an ellipsis. Without a terminal nothing is truncated.

import { eastAsianWidth } from 'get-east-asian-width';
import { styled, type Terminal } from './terminal.ts';
import { oneLine } from './text.ts';

export interface Column {
  readonly head: string;
  /** Use `right` for numbers. */
  readonly align?: 'left' | 'right';
  /** Cells are never truncated, for example ids that people copy. */
  readonly whole?: boolean;
}

const GAP = 2;
/** A narrower column is not readable. */
const LEAST = 6;

/** Cells are in the order of the columns and may contain any text: each is sanitized to one line. Empty without rows. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | number)[])[],
  terminal: Terminal | undefined,
): string {
  if (rows.length === 0) return '';
  const [head = [], ...body] = tableLines(columns, rows, terminal?.columns());
  return [styled(terminal, 'bold', head.join('')), ...body.map((cells) => cells.join(''))]
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Name and value pairs, one line each; values are truncated to the terminal. */
export function listing(rows: readonly (readonly [string, string | number])[], terminal: Terminal | undefined): string {
  const cells = rows.map(([name, value]) => [`${name}  `, oneLine(String(value))] as const);
  const width = Math.max(14, ...cells.map(([name]) => displayWidth(name)));
  return cells
    .map(([name, value]) => padTo(width, name) + (terminal ? cutTo(terminal.columns() - width, value) : value))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** The cells of each line, padded and truncated, heads first. @param width available columns; undefined = unlimited */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly (string | number)[])[],
  width: number | undefined,
): readonly (readonly string[])[] {
  const lines = [columns.map(({ head }) => head), ...rows.map((row) => row.map((cell) => oneLine(String(cell))))];
  const wanted = columns.map((_, at) => Math.max(...lines.map((line) => displayWidth(line[at] ?? ''))));
  const widths = width === undefined ? wanted : fit(columns, wanted, width);
  return lines.map((line) =>
    columns.map(({ align }, at) => {
      const own = widths[at] ?? 0;
      const gap = at < columns.length - 1 ? ' '.repeat(GAP) : '';
      return padTo(own, cutTo(own, line[at] ?? ''), align) + gap;
    }),
  );
}

/** Shrinks the widest columns, each down to the width of the next, until the table fits. */
function fit(columns: readonly Column[], wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  const elastic = columns.flatMap(({ whole, align }, at) => (whole || align === 'right' ? [] : [at]));
  let over = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1) - width;
  for (; over > 0; over--) {
    const widest = elastic.reduce(
      (best, at) => ((widths[at] ?? 0) > (widths[best] ?? 0) ? at : best),
      elastic[0] ?? -1,
    );
    if ((widths[widest] ?? 0) <= LEAST) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

// Measures how many terminal columns a text takes, and truncates it to fit.

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
