// How a table is written: its separator and its quotes, found out together from its first rows. A reading counts only if it
// gives every row the same number of cells, two or more, without a fault. Decimal commas and line ends need no guess of their
// own: a decimal comma makes another reading or none, and every kind of line end ends a row. With two readings that differ,
// the table is refused and both are shown: whoever made it knows which one is meant, and we do not.

import { type DelimitedLimits, type DelimitedRow, type Dialect, RowParser } from './row-parser.ts';
import { Refusal, shown, shownShort } from './sample.ts';
import { textChunks } from './text-lines.ts';

const DELIMITERS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const;
/** Enough for two of the longest rows that a study table may have. */
const FIRST_CHARACTERS = 2 * 1024 * 1024;
const FIRST_ROWS = 1_000;
/** What some spreadsheet programs write and read before the table. */
const DIRECTIVE = /^"?sep=([,;\t|])"?(?:\r\n|\r|\n)/i;

export interface FoundDialect {
  readonly dialect: Dialect;
  /** Whether the first line is `sep=;` and no row. */
  readonly directive: boolean;
}

/** The one way to read the table. If there is none, the likeliest one, so that its faults can be told. */
export async function dialectOf(path: string, name: string, limits: DelimitedLimits): Promise<FoundDialect> {
  const { text, whole } = await beginning(path, name);
  const named = DIRECTIVE.exec(text);
  const body = named ? text.slice(named[0].length) : text;
  const delimiters = named ? [named[1] as Dialect['delimiter']] : (Object.keys(DELIMITERS) as Dialect['delimiter'][]);
  const tried = delimiters.flatMap((delimiter) =>
    quotings(body).map((quoting) => readingOf(body, whole, { delimiter, ...quoting }, limits)),
  );
  const [first, ...others] = tried.filter(({ consistent }) => consistent);
  const other = first && others.find(({ rows }) => firstDifference(first.rows, rows) >= 0);
  if (first && other) throw inDoubt(name, first, other, named ? 1 : 0);
  return { dialect: (first ?? likeliest(tried, name)).dialect, directive: named !== null };
}

interface Reading {
  readonly dialect: Dialect;
  readonly rows: readonly DelimitedRow[];
  readonly consistent: boolean;
}

async function beginning(path: string, name: string): Promise<{ readonly text: string; readonly whole: boolean }> {
  let text = '';
  for await (const chunk of textChunks(path, name)) {
    text += chunk;
    if (text.length > FIRST_CHARACTERS) return { text, whole: false };
  }
  return { text, whole: true };
}

/** Quotings that could make a difference. */
function quotings(text: string): readonly Omit<Dialect, 'delimiter'>[] {
  return [
    { quote: '"', escape: 'doubled' },
    ...(text.includes("'") ? [{ quote: "'", escape: 'doubled' } as const] : []),
    ...(/\\[\\"',;\t|\r\n]/.test(text) ? [{ quote: '"', escape: 'backslash' } as const] : []),
  ];
}

function readingOf(text: string, whole: boolean, dialect: Dialect, limits: DelimitedLimits): Reading {
  const rows: DelimitedRow[] = [];
  let sound = true;
  try {
    const parser = new RowParser('', dialect, limits);
    for (const row of parser.write(text)) if (rows.push(row) >= FIRST_ROWS) break;
    if (whole && rows.length < FIRST_ROWS) rows.push(...parser.end());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    sound = false;
  }
  const width = rows[0]?.cells.length ?? 0;
  return { dialect, rows, consistent: sound && width > 1 && rows.every(({ cells }) => cells.length === width) };
}

/** Index of the first row that two readings see differently, or -1. */
function firstDifference(one: readonly DelimitedRow[], other: readonly DelimitedRow[]): number {
  const length = Math.max(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const [a, b] = [one[i]?.cells, other[i]?.cells];
    if (a?.length !== b?.length || a?.some((cell, j) => cell !== b?.[j])) return i;
  }
  return -1;
}

function inDoubt(name: string, one: Reading, other: Reading, linesBefore: number): Refusal {
  const at = firstDifference(one.rows, other.rows);
  const line = (one.rows[at] ?? other.rows[at])?.line ?? 1;
  return new Refusal([
    `${shown(name)}, line ${line + linesBefore}, can be read in two ways: ${said(one, at)}, or ${said(other, at)}. ` +
      'Put double quotes around each cell that holds a comma, a semicolon, a tab, a bar or a quote, or save the table as ' +
      'text separated by tabs',
  ]);
}

const SHOWN_CELLS = 4;

function said({ dialect, rows }: Reading, at: number): string {
  const cells = rows[at]?.cells ?? [];
  const listed = cells.slice(0, SHOWN_CELLS).map((cell) => shownShort(cell, 30));
  const how = [
    `separated by ${DELIMITERS[dialect.delimiter]}`,
    ...(dialect.quote === "'" ? ['with single quotes as quotes'] : []),
    ...(dialect.escape === 'backslash' ? ['with backslashes as escapes'] : []),
  ].join(' ');
  return `${how} (${cells.length} cells: ${listed.join(' ')}${cells.length > SHOWN_CELLS ? ' ...' : ''})`;
}

/** By the cells of the first row; if none has two, by the name of the file. */
function likeliest(tried: readonly Reading[], name: string): Reading {
  const usual = tried.filter(({ dialect }) => dialect.quote === '"' && dialect.escape === 'doubled');
  const byName = usual.find(({ dialect }) => dialect.delimiter === (/\.(tsv|txt|tabular)$/i.test(name) ? '\t' : ','));
  const [widest] = [...usual].sort((a, b) => width(b) - width(a));
  const chosen = widest && width(widest) > 1 ? widest : (byName ?? widest);
  if (chosen === undefined) throw new Error('no reading was tried');
  return chosen;
}

const width = ({ rows }: Reading): number => rows[0]?.cells.length ?? 0;
