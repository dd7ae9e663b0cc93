// Tables of text as streams of rows. How a table is written (`dialect.ts`) is found out from its first rows.

import { dialectOf } from './dialect.ts';
import { CSV, type DelimitedLimits, type DelimitedRow, type Dialect, RowParser } from './row-parser.ts';
import { ownChunks, textChunks } from './text-lines.ts';

export type { DelimitedLimits, DelimitedRow } from './row-parser.ts';

/** Rows of an uploaded table that are not empty. Throws a {@link Refusal} at the first fault, or if the reading is in doubt. */
export async function* delimitedRows(
  path: string,
  name: string,
  limits: DelimitedLimits,
): AsyncGenerator<DelimitedRow> {
  const { dialect, directive } = await dialectOf(path, name, limits);
  for await (const row of parsed(textChunks(path, name), name, dialect, limits))
    if (!directive || row.line > 1) yield row;
}

/** Rows of an uploaded text whose form is fixed: separated by tabs, quoted where a spreadsheet program quotes. */
export function tabRows(path: string, name: string, limits: DelimitedLimits): AsyncGenerator<DelimitedRow> {
  return parsed(textChunks(path, name), name, { ...CSV, delimiter: '\t' }, limits);
}

/** Rows of a table that a sample wrote itself, with {@link csvLine}. */
export function ownRows(path: string, name: string, limits: DelimitedLimits): AsyncGenerator<DelimitedRow> {
  return parsed(ownChunks(path), name, CSV, limits);
}

/** One row as CSV, with its line end. */
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
