// BIOM 1.0 matrices (JSON): checked, and their non-zero cells read from the dense or the sparse form. JSON is read as a whole,
// so the size of the file is limited to what fits into a small process.

import { createWriteStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { installing, soleFile } from './installed-dataset.ts';
import { JsonFaults, type JsonPath, scanJson } from './json-scan.ts';
import type { RowTable } from './row-statements.ts';
import { bytesOf, LIMITS, Refusal, type SamplePlugin, shown } from './sample.ts';
import { sayConverted } from './text-encoding.ts';
import { ownLines, wholeText } from './text-lines.ts';

export interface BiomAxis {
  readonly id: string;
  readonly metadata: unknown;
}

export interface BiomMatrix {
  readonly type: string;
  readonly rows: readonly BiomAxis[];
  readonly columns: readonly BiomAxis[];
  /** By rows in the dense form; in the order of the file in the sparse form. */
  nonZero(): Iterable<{ readonly row: string; readonly column: string; readonly value: number }>;
}

/** Throws a {@link Refusal} with each fault, its position, and the value in the file. */
export function parseBiom(text: string): BiomMatrix {
  const document = parseObject(text);
  const refuse = (path: JsonPath, rule: string): never => refuseAt(text, path, rule);
  const { format, matrix_element_type: elements, matrix_type: form, data } = document;
  if (typeof format !== 'string' || !format.startsWith('Biological Observation Matrix 1.'))
    refuse(['format'], "it must be 'Biological Observation Matrix 1.0.0'");
  if (elements !== 'int' && elements !== 'float') refuse(['matrix_element_type'], "it must be 'int' or 'float'");
  const [height, width] = checkShape(document.shape, refuse);
  const rows = checkAxis(text, document.rows, 'rows', height);
  const columns = checkAxis(text, document.columns, 'columns', width);
  if (!Array.isArray(data)) return refuse(['data'], 'it must be a list');
  const faults = new JsonFaults(text);
  if (form === 'dense') checkDense(data, height, width, elements === 'int', faults);
  else if (form === 'sparse') checkSparse(data, height, width, elements === 'int', faults);
  else refuse(['matrix_type'], "it must be 'dense' or 'sparse'");
  faults.check();
  const cells = form === 'dense' ? denseCells(data) : (data as readonly Cell[]);
  return {
    type: typeof document.type === 'string' ? document.type : '',
    rows,
    columns,
    *nonZero() {
      for (const [row, column, value] of cells)
        if (value !== 0) yield { row: rows[row]?.id ?? '', column: columns[column]?.id ?? '', value };
    },
  };
}

type Cell = readonly [row: number, column: number, value: number];

function parseObject(text: string): Record<string, unknown> {
  if (/^\s*#/.test(text))
    throw new Refusal([
      'the file is a table of text, not JSON; a BIOM 1.0 file is needed: convert it with: biom convert --to-json',
    ]);
  const fault = scanJson(text);
  if (fault !== undefined) throw new Refusal([`the file is not JSON as a BIOM 1.0 file has to be; ${fault}`]);
  const document: unknown = JSON.parse(text);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new Refusal(['the file is JSON but no object; expected a BIOM 1.0 file']);
  return document as Record<string, unknown>;
}

function refuseAt(text: string, path: JsonPath, rule: string): never {
  const faults = new JsonFaults(text);
  faults.add(path, rule);
  faults.check();
  throw new Error('unreachable: a fault was added');
}

function checkShape(shape: unknown, refuse: (path: JsonPath, rule: string) => never): readonly [number, number] {
  const [height, width] = Array.isArray(shape) ? (shape as unknown[]) : [];
  if (!Array.isArray(shape) || shape.length !== 2 || !isCount(height) || !isCount(width))
    return refuse(['shape'], 'it must be the numbers of rows and columns, each at least 1');
  return [height, width];
}

const ID_RULE = `it must be text of 1 to ${LIMITS.biomIdBytes} bytes in UTF-8 without tabs or line ends`;

function checkAxis(text: string, axis: unknown, name: 'rows' | 'columns', length: number): readonly BiomAxis[] {
  if (!Array.isArray(axis)) return refuseAt(text, [name], 'it must be a list');
  if (axis.length !== length) throw new Refusal([`'${name}' has ${axis.length} entries; 'shape' says ${length}`]);
  const faults = new JsonFaults(text);
  const seen = new Map<string, number>();
  const checked = (axis as readonly ({ id?: unknown; metadata?: unknown } | null)[]).map((entry, i) => {
    const id = entry?.id;
    const fault = faultOfId(id);
    const before = typeof id === 'string' ? seen.get(id) : undefined;
    if (fault !== undefined) faults.add([name, i, 'id'], fault);
    else if (before !== undefined) faults.add([name, i, 'id'], `'${name}[${before}].id' is the same`);
    else seen.set(String(id), i);
    return { id: String(id), metadata: entry?.metadata ?? null };
  });
  faults.check();
  return checked;
}

function faultOfId(id: unknown): string | undefined {
  if (typeof id === 'number') return `${ID_RULE} (write numbers in double quotes)`;
  if (typeof id !== 'string' || id === '' || /[\p{Cc}]/u.test(id)) return ID_RULE;
  const bytes = bytesOf(id);
  return bytes > LIMITS.biomIdBytes ? `it has ${bytes} bytes; ${ID_RULE}` : undefined;
}

function checkDense(data: readonly unknown[], height: number, width: number, whole: boolean, faults: JsonFaults): void {
  if (data.length !== height) throw new Refusal([`'data' has ${data.length} rows; 'shape' says ${height}`]);
  for (const [row, cells] of data.entries()) {
    if (!Array.isArray(cells) || cells.length !== width) {
      faults.add(['data', row], `it must be a list of ${width} cells, as 'shape' says`);
      continue;
    }
    for (const [column, value] of cells.entries())
      if (!isValue(value, whole)) faults.add(['data', row, column], valueRule(value, whole));
  }
}

function checkSparse(
  data: readonly unknown[],
  height: number,
  width: number,
  whole: boolean,
  faults: JsonFaults,
): void {
  const seen = new Set<number>();
  for (const [i, cell] of data.entries()) {
    const [row, column, value] = Array.isArray(cell) && cell.length === 3 ? (cell as unknown[]) : [];
    if (!isIndex(row, height) || !isIndex(column, width))
      faults.add(['data', i], `it must be [row below ${height}, column below ${width}, value]`);
    else if (!isValue(value, whole)) faults.add(['data', i, 2], valueRule(value, whole));
    else if (seen.has(row * width + column)) faults.add(['data', i], `the cell ${row}, ${column} stands twice`);
    else seen.add(row * width + column);
  }
}

function* denseCells(data: readonly unknown[]): Generator<Cell> {
  for (const [row, cells] of (data as readonly (readonly number[])[]).entries())
    for (const [column, value] of cells.entries()) yield [row, column, value];
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;
const isIndex = (value: unknown, below: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < below;
const isValue = (value: unknown, whole: boolean): boolean =>
  whole ? Number.isSafeInteger(value) : typeof value === 'number' && Number.isFinite(value);

/** Mentions the bound only if it was exceeded. */
function valueRule(value: unknown, whole: boolean): string {
  if (typeof value !== 'number' || (whole && !Number.isInteger(value) && Number.isFinite(value)))
    return `it must be a ${whole ? 'whole ' : ''}number`;
  return whole
    ? `whole numbers from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER} can be kept`
    : 'it is beyond the range of numbers of 64 bits (about 1.8e308)';
}

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
    const file = soleFile(inputDir, 'BIOM');
    const matrix = parseBiom(await readDocument(join(inputDir, file), file));
    const { type, rows, columns } = matrix;
    await writeFile(join(outputDir, METADATA), JSON.stringify({ type, rows, columns }));
    await pipeline(Readable.from(cellLines(matrix)), createWriteStream(join(outputDir, CELLS)), { signal: io.signal });
    sayConverted(join(inputDir, file), file, io);
  },

  async checkCompatibility() {
    // Counts of observed taxa do not refer to any installed reference.
  },

  ...installing(TABLE, async (dataDir) => ({ rows: cellRows(ownLines(join(dataDir, CELLS))), what: 'cells' })),
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
