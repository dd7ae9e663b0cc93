// BIOM 1.0 matrices (JSON). JSON is read whole, so the file is limited to what fits a small process.

import { createWriteStream } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BiomMatrix, parseBiom } from './biom-matrix.ts';
import { installFiles, soleFile } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { Refusal, type SamplePlugin, shown } from './sample.ts';
import { textLines } from './text-lines.ts';

const CELLS = 'data.tsv';
const METADATA = 'metadata.json';
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_LINE = 3_000;
const HDF5 = Buffer.from([0x89, 0x48, 0x44, 0x46]);
const TABLE: RowTable = {
  name: 'biom',
  columns: [
    { name: 'row_id', type: 'text' },
    { name: 'column_id', type: 'text' },
    { name: 'value', type: 'float8' },
  ],
  key: ['row_id', 'column_id'],
};

export const biom: SamplePlugin = {
  async import(inputDir, outputDir, io) {
    const file = await soleFile(inputDir, 'BIOM');
    const matrix = parseBiom(await readDocument(join(inputDir, file), file));
    const { type, rows, columns } = matrix;
    await writeFile(join(outputDir, METADATA), JSON.stringify({ type, rows, columns }));
    await pipeline(Readable.from(cellLines(matrix)), createWriteStream(join(outputDir, CELLS)), { signal: io.signal });
  },

  async checkCompatibility() {
    // Counts of observed taxa refer to no installed reference.
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const cells = cellRows(textLines(join(dataDir, CELLS), CELLS, MAX_LINE));
    const count = await replaceRows(await io.database(), TABLE, dataset, cells, io.signal);
    io.log(`${count} cells`);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeRows(await io.database(), TABLE, dataset, io.signal);
    await removeMetaRow(dataset, io);
  },
};

async function readDocument(path: string, name: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_BYTES)
    throw new Refusal([`${shown(name)} has ${size} bytes; a BIOM file may have at most ${MAX_BYTES}`]);
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HDF5.length), 0, HDF5.length, 0);
  if (buffer.subarray(0, bytesRead).equals(HDF5))
    throw new Refusal([`${shown(name)} is BIOM 2 (HDF5); convert it with: biom convert --to-json`]);
  return readFile(path, 'utf8');
}

function* cellLines(matrix: BiomMatrix): Generator<string> {
  for (const { row, column, value } of matrix.nonZero()) yield `${row}\t${column}\t${value}\n`;
}

async function* cellRows(lines: AsyncIterable<string>): AsyncGenerator<[string, string, number]> {
  for await (const line of lines) {
    const [row = '', column = '', value = ''] = line.split('\t');
    yield [row, column, Number(value)];
  }
}
