// BIOM 1.0 matrices (JSON). JSON is read whole, so the file is limited to what fits a small process.

import { createWriteStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BiomMatrix, parseBiom } from './biom-matrix.ts';
import { installFiles, soleFile } from './dataset-files.ts';
import { installMetaRow, removeMetaRow } from './dataset-meta.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import { LIMITS } from './limits.ts';
import { Refusal, type SamplePlugin, shown } from './sample.ts';
import { sayConverted } from './text-encoding.ts';
import { ownLines, wholeText } from './text-lines.ts';

const CELLS = 'data.tsv';
const METADATA = 'metadata.json';
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
    await sayConverted(join(inputDir, file), file, io);
  },

  async checkCompatibility() {
    // Counts of observed taxa refer to no installed reference.
  },

  async installData(dataset, dataDir, io) {
    await installFiles(dataDir, io.dataFiles);
    const cells = cellRows(ownLines(join(dataDir, CELLS)));
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
  if (size > LIMITS.biomFileBytes)
    throw new Refusal([`${shown(name)} has ${size} bytes; a BIOM file may have at most ${LIMITS.biomFileBytes}`]);
  return wholeText(path, name);
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
