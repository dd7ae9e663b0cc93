// Study tables: one comma- or tab-separated file with a header line and the same number of cells in every row.

import { createWriteStream } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { installFiles, soleFile } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { csvLine, type DelimitedRow, delimitedRows } from './delimited.ts';
import { Faults, Refusal, type SamplePlugin, shown } from './sample.ts';

const OUTPUT = 'study.csv';
const MIN_COLUMNS = 2;
const LIMITS = { maxColumns: 999, maxCell: 1_000 };
const DELIMITERS: Readonly<Record<string, ',' | '\t'>> = { '.csv': ',', '.tsv': '\t', '.txt': '\t' };
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
    const file = await soleFile(inputDir, 'study table (.csv, .tsv or .txt)');
    const delimiter = DELIMITERS[extname(file).toLowerCase()];
    if (delimiter === undefined) throw new Refusal([`${shown(file)}: a study table must end with .csv, .tsv or .txt`]);
    const rows = delimitedRows(join(inputDir, file), file, delimiter, LIMITS);
    const lines = Readable.from(checkedLines(rows, file));
    await pipeline(lines, createWriteStream(join(outputDir, OUTPUT)), { signal: io.signal });
  },

  async checkCompatibility() {
    // A study table stands for itself.
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const rows = numberedRows(delimitedRows(join(dataDir, OUTPUT), OUTPUT, ',', LIMITS));
    const count = await replaceRows(await io.database(), TABLE, dataset, rows, io.signal);
    io.log(`${count} rows`);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeRows(await io.database(), TABLE, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
};

/** The table again, as CSV; throws after the last row when any does not fit. */
async function* checkedLines(rows: AsyncIterable<DelimitedRow>, name: string): AsyncGenerator<string> {
  let columns: number | undefined;
  let dataRows = 0;
  const faults = new Faults();
  for await (const { line, cells } of rows) {
    if (columns === undefined) {
      columns = cells.length;
      checkHeader(cells, name);
    } else {
      dataRows++;
      if (cells.length !== columns)
        faults.add(`${shown(name)}, line ${line}: ${cells.length} cells; the header has ${columns}`);
    }
    yield csvLine(cells);
  }
  faults.check();
  if (columns === undefined) throw new Refusal([`${shown(name)} is empty; it must begin with a header line`]);
  if (dataRows === 0) throw new Refusal([`${shown(name)} has a header but no data row`]);
}

function checkHeader(cells: readonly string[], name: string): void {
  if (cells.length < MIN_COLUMNS)
    throw new Refusal([
      `${shown(name)}: the header has ${cells.length} column; ${MIN_COLUMNS} to ${LIMITS.maxColumns} are needed ` +
        '(.csv files are separated by commas, .tsv and .txt files by tabs)',
    ]);
  const faults = new Faults();
  const seen = new Set<string>();
  for (const [i, cell] of cells.entries()) {
    const column = cell.trim();
    if (column === '') faults.add(`${shown(name)}: column ${i + 1} has no name`);
    else if (seen.has(column)) faults.add(`${shown(name)}: two columns are named ${shown(column)}`);
    seen.add(column);
  }
  faults.check();
}

async function* numberedRows(rows: AsyncIterable<DelimitedRow>): AsyncGenerator<[number, string]> {
  let header: readonly string[] | undefined;
  let number = 0;
  for await (const { cells } of rows) {
    if (header === undefined) header = cells.map((cell) => cell.trim());
    else yield [++number, JSON.stringify(Object.fromEntries(header.map((column, i) => [column, cells[i] ?? ''])))];
  }
}
