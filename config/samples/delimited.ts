// Tables of text as streams of rows. The dialect of a table, its separator and its quotes, is detected from its first rows. A
// reading counts only if it gives every row the same number of cells, at least two, without a fault. Decimal commas and line
// ends need no detection: a decimal comma leads to another reading or none, and every kind of line end ends a row. If two
// readings differ, the table is refused and both are shown: its author knows which one is meant, and we do not.

import { CSV, type DelimitedLimits, type DelimitedRow, type Dialect, RowParser } from './row-parser.ts';
import { Refusal, shown, shownShort } from './sample.ts';
import { ownChunks, textChunks } from './text-lines.ts';

const DELIMITERS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const;
/** Too common in text to separate the cells of a table, but they can make another reading doubtful. */
const WITNESSES = { ':': 'colons', ' ': 'blanks' } as const;
const NAMES = { ...DELIMITERS, ...WITNESSES };
/** Enough for two rows of the greatest length in a study table. */
const FIRST_CHARACTERS = 2 * 1024 * 1024;
const FIRST_ROWS = 1_000;
/** A line that some spreadsheet programs write and read before the table. */
const DIRECTIVE = /^"?sep=([,;\t|])"?(?:\r\n|\r|\n)/i;

interface FoundDialect {
  readonly dialect: Dialect;
  /** The first line is a directive such as `sep=;`, not a row. */
  readonly directive: boolean;
}

/** The only consistent reading; if there is none, the most likely one, so that its faults can be reported. */
async function dialectOf(path: string, name: string, limits: DelimitedLimits): Promise<FoundDialect> {
  const { text, whole } = await beginning(path, name);
  const named = DIRECTIVE.exec(text);
  const body = named ? text.slice(named[0].length) : text;
  const readings = (delimiters: readonly string[]): readonly Reading[] =>
    delimiters.flatMap((delimiter) =>
      quotings(body).map((quoting) =>
        readingOf(body, whole, { delimiter: delimiter as Dialect['delimiter'], ...quoting }, limits),
      ),
    );
  const tried = readings(named ? [named[1] ?? ','] : Object.keys(DELIMITERS));
  const [first, ...others] = tried.filter(({ consistent }) => consistent);
  const witnesses = first && !named ? readings(Object.keys(WITNESSES)).filter((witness) => speaks(witness, first)) : [];
  const other = first && [...others, ...witnesses].find(({ rows }) => firstDifference(first.rows, rows) >= 0);
  if (first && other) throw inDoubt(name, first, other, named ? 1 : 0);
  return { dialect: (first ?? likeliest(tried, name)).dialect, directive: named !== null };
}

interface Reading {
  readonly dialect: Dialect;
  readonly rows: readonly DelimitedRow[];
  readonly consistent: boolean;
}

/**
 * Names of two words are common, so blanks count only if they give more cells or one is escaped; colons if they give as many.
 */
function speaks({ dialect, rows, consistent }: Reading, first: Reading): boolean {
  const more = width({ rows }) - width(first);
  const mustBeMore = dialect.delimiter === ' ' && dialect.escape === 'doubled';
  return consistent && (mustBeMore ? more > 0 : more >= 0);
}

async function beginning(path: string, name: string): Promise<{ readonly text: string; readonly whole: boolean }> {
  let text = '';
  for await (const chunk of textChunks(path, name)) {
    text += chunk;
    if (text.length > FIRST_CHARACTERS) return { text, whole: false };
  }
  return { text, whole: true };
}

/** The quotings that could give different readings. */
function quotings(text: string): readonly Omit<Dialect, 'delimiter'>[] {
  const quotes = text.includes("'") ? (['"', "'"] as const) : (['"'] as const);
  const escapes = /\\[\\"',;: \t|\r\n]/.test(text) ? (['doubled', 'backslash'] as const) : (['doubled'] as const);
  return quotes.flatMap((quote) => escapes.map((how) => ({ quote, escape: how })));
}

function readingOf(text: string, whole: boolean, dialect: Dialect, limits: DelimitedLimits): Reading {
  const rows: DelimitedRow[] = [];
  const parser = new RowParser('', dialect, limits);
  let sound = true;
  try {
    for (const row of parser.write(text)) if (rows.push(row) >= FIRST_ROWS) break;
    if (whole && rows.length < FIRST_ROWS) rows.push(...parser.end());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    sound = false;
  }
  const columns = rows[0]?.cells.length ?? 0;
  const even = columns > 1 && rows.every(({ cells }) => cells.length === columns);
  return { dialect, rows, consistent: sound && even && isUsed(dialect, parser) };
}

/** Single quotes and backslashes are text unless one of them could have a meaning. */
function isUsed({ quote, escape: how }: Dialect, { quotes, escapes }: RowParser): boolean {
  return (quote === '"' || quotes > 0) && (how === 'doubled' || escapes > 0);
}

/** The index of the first row that differs between two readings, or -1. */
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
  const from = firstOther(one.rows[at]?.cells ?? [], other.rows[at]?.cells ?? []);
  return new Refusal([
    `${shown(name)}, line ${line + linesBefore}, can be read in two ways: ${said(one, at, from)}, or ${said(other, at, from)}. ` +
      'Put double quotes around each cell that holds a comma, a semicolon, a tab, a bar, a colon or a quote, or save the table as ' +
      'text separated by tabs',
  ]);
}

/** The first cell that differs between two rows of the same width; 0 for other rows, which are shown from the beginning. */
function firstOther(one: readonly string[], other: readonly string[]): number {
  return one.length === other.length ? one.findIndex((cell, i) => cell !== other[i]) : 0;
}

const SHOWN_CELLS = 4;

function said({ dialect, rows }: Reading, at: number, from: number): string {
  const cells = rows[at]?.cells ?? [];
  const listed = cells.slice(from, from + SHOWN_CELLS).map((cell) => shownShort(cell, 30));
  const how = [
    `separated by ${NAMES[dialect.delimiter]}`,
    ...(dialect.quote === "'" ? ['with single quotes as quotes'] : []),
    ...(dialect.escape === 'backslash' ? ['with backslashes as escapes'] : []),
  ].join(' ');
  const [before, after] = [from > 0 ? '... ' : '', cells.length > from + SHOWN_CELLS ? ' ...' : ''];
  return `${how} (${cells.length} cells: ${before}${listed.join(' ')}${after})`;
}

/** The reading with the most cells in the first row; if none has two, the one that the file's name suggests. */
function likeliest(tried: readonly Reading[], name: string): Reading {
  const usual = tried.filter(({ dialect }) => dialect.quote === '"' && dialect.escape === 'doubled');
  const byName = usual.find(({ dialect }) => dialect.delimiter === (/\.(tsv|txt|tabular)$/i.test(name) ? '\t' : ','));
  const [widest] = [...usual].sort((a, b) => width(b) - width(a));
  const chosen = widest && width(widest) > 1 ? widest : (byName ?? widest);
  if (chosen === undefined) throw new Error('no reading was tried');
  return chosen;
}

const width = ({ rows }: Pick<Reading, 'rows'>): number => rows[0]?.cells.length ?? 0;

/**
 * The rows of an uploaded table, except empty ones. Throws a {@link Refusal} at the first fault, or if the dialect is in doubt.
 */
export async function* delimitedRows(
  path: string,
  name: string,
  limits: DelimitedLimits,
): AsyncGenerator<DelimitedRow> {
  const { dialect, directive } = await dialectOf(path, name, limits);
  for await (const row of parsed(textChunks(path, name), name, dialect, limits))
    if (!directive || row.line > 1) yield row;
}

/** The rows of an uploaded text in a fixed form: separated by tabs, with the quotes of spreadsheet programs. */
export function tabRows(path: string, name: string, limits: DelimitedLimits): AsyncGenerator<DelimitedRow> {
  return parsed(textChunks(path, name), name, { ...CSV, delimiter: '\t' }, limits);
}

/** The rows of a table that a sample wrote with {@link csvLine}. */
export function ownRows(path: string, name: string, limits: DelimitedLimits): AsyncGenerator<DelimitedRow> {
  return parsed(ownChunks(path), name, CSV, limits);
}

/** One row as CSV, including the line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}

async function* parsed(
  chunks: AsyncIterable<string>,
  name: string,
  dialect: Dialect,
  limits: DelimitedLimits,
): AsyncGenerator<DelimitedRow> {
  const parser = new RowParser(name, dialect, limits);
  for await (const chunk of chunks) yield* parser.write(chunk);
  yield* parser.end();
}
