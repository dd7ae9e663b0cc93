// Study tables: one file of delimited text with a header line and the same number of cells in every row.

import { createWriteStream } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { csvLine, delimitedRows, ownRows } from './delimited.ts';
import { installing, soleFile } from './installed-dataset.ts';
import type { DelimitedRow } from './row-parser.ts';
import type { RowTable } from './row-statements.ts';
import { Faults, LIMITS, Refusal, type SamplePlugin, shown, shownShort, tooMany } from './sample.ts';
import { sayConverted } from './text-encoding.ts';

const OUTPUT = 'study.csv';
const MIN_COLUMNS = 2;
const EXTENSIONS = ['.csv', '.tsv', '.txt'];
const TABLE: RowTable = {
  name: 'isasimple',
  columns: [
    { name: 'row_number', type: 'integer' },
    /** Column name -> cell, both text. */
    { name: 'cells', type: 'jsonb' },
  ],
  key: ['row_number'],
};

export const isasimple: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const file = soleFile(inputDir, 'study table (.csv, .tsv or .txt)');
    if (!EXTENSIONS.includes(extname(file).toLowerCase()))
      throw new Refusal([`${shown(file)}: a study table must end with .csv, .tsv or .txt`]);
    const rows = delimitedRows(join(inputDir, file), file, LIMITS);
    const lines = Readable.from(checkedLines(rows, file));
    await pipeline(lines, createWriteStream(join(outputDir, OUTPUT)), { signal: io.signal });
    sayConverted(join(inputDir, file), file, io);
  },

  async checkCompatibility() {
    // A study table has no dependencies.
  },

  ...installing(TABLE, async (dataDir) => ({
    rows: numberedRows(ownRows(join(dataDir, OUTPUT), OUTPUT, LIMITS)),
    what: 'rows',
  })),
};

/** The lines of the table as CSV. Throws after the last row if any row does not fit. */
export async function* checkedLines(
  rows: AsyncIterable<DelimitedRow>,
  name: string,
  most: number = LIMITS.rows,
): AsyncGenerator<string> {
  let columns: number | undefined;
  let dataRows = 0;
  const faults = new Faults();
  for await (const row of rows) {
    const { line, cells } = row;
    if (columns === undefined) {
      columns = cells.length;
      checkHeader(row, name);
    } else {
      if (++dataRows > most) throw new Refusal([`${shown(name)}, line ${line}: the row ${tooMany(dataRows, most)}`]);
      if (cells.length !== columns) faults.add(`${shown(name)}, line ${line}: ${otherWidth(cells, columns)}`);
    }
    yield csvLine(cells);
  }
  faults.check();
  if (columns === undefined) throw new Refusal([`${shown(name)} is empty; it must begin with a header line`]);
  if (dataRows === 0) throw new Refusal([`${shown(name)} has a header but no data row`]);
}

/** The message for a row that does not fit the header, with its content. */
function otherWidth(cells: readonly string[], columns: number): string {
  const listed = cells.slice(0, 3).map((cell) => shownShort(cell, 20));
  const found = `${cells.length} cells (${listed.join(' ')}${cells.length > 3 ? ' ...' : ''}); the header has ${columns}`;
  if (cells.length !== columns + 1) return found;
  return `${found} (if the first cell is the name of the row, as R writes it, give that column a name, too)`;
}

function checkHeader({ line, cells }: DelimitedRow, name: string): void {
  const where = `${shown(name)}, line ${line}`;
  if (cells.length < MIN_COLUMNS)
    throw new Refusal([
      `${where}: the header ${shown(cells.join(' '))} has ${cells.length} column; ${MIN_COLUMNS} to ${LIMITS.columns} are ` +
        'needed, separated by commas, semicolons, tabs or vertical bars',
    ]);
  const faults = new Faults();
  const seen = new Set<string>();
  for (const [i, cell] of cells.entries()) {
    const column = cell.trim();
    if (column === '') faults.add(`${where}: column ${i + 1} has no name`);
    else if (seen.has(column)) faults.add(`${where}: two columns are named ${shown(column)}`);
    seen.add(column);
  }
  faults.check();
}

async function* numberedRows(rows: AsyncIterable<DelimitedRow>): AsyncGenerator<[number, string]> {
  let header: readonly string[] | undefined;
  let number = 0;
  for await (const { cells } of rows) {
    if (header === undefined) header = cells;
    else yield [++number, JSON.stringify(Object.fromEntries(header.map((column, i) => [column, cells[i] ?? ''])))];
  }
}
