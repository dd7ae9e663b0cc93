// A BIOM 1.0 document (JSON): checked, and its non-zero cells read from the dense or the sparse form.

import { Faults, Refusal, shown } from './sample.ts';

export interface BiomAxis {
  readonly id: string;
  readonly metadata: unknown;
}

export interface BiomMatrix {
  readonly type: string;
  readonly rows: readonly BiomAxis[];
  readonly columns: readonly BiomAxis[];
  /** Row by row in the dense form, as written in the sparse one. */
  nonZero(): Iterable<{ readonly row: string; readonly column: string; readonly value: number }>;
}

/** The matrix, or a {@link Refusal} that names what is wrong where. */
export function parseBiom(text: string): BiomMatrix {
  const document = parseObject(text);
  if (typeof document.format !== 'string' || !document.format.startsWith('Biological Observation Matrix 1.'))
    throw new Refusal([`'format' is ${json(document.format)}; it must be 'Biological Observation Matrix 1.0.0'`]);
  if (!['int', 'float'].includes(String(document.matrix_element_type)))
    throw new Refusal([`'matrix_element_type' is ${json(document.matrix_element_type)}; it must be 'int' or 'float'`]);
  const [height, width] = checkShape(document.shape);
  const rows = checkAxis(document.rows, 'rows', height);
  const columns = checkAxis(document.columns, 'columns', width);
  const whole = document.matrix_element_type === 'int';
  const { data } = document;
  if (!Array.isArray(data)) throw new Refusal([`'data' is ${json(data)}; it must be a list`]);
  if (document.matrix_type === 'dense') checkDense(data, height, width, whole);
  else if (document.matrix_type === 'sparse') checkSparse(data, height, width, whole);
  else throw new Refusal([`'matrix_type' is ${json(document.matrix_type)}; it must be 'dense' or 'sparse'`]);
  const cells = document.matrix_type === 'dense' ? denseCells(data) : (data as readonly Cell[]);
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
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Refusal([`the file is not JSON (${(error as Error).message}); a BIOM 1.0 file is needed`]);
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new Refusal(['the file is JSON but no object; a BIOM 1.0 file is needed']);
  return document as Record<string, unknown>;
}

function checkShape(shape: unknown): readonly [number, number] {
  const [height, width] = Array.isArray(shape) ? (shape as unknown[]) : [];
  if (!Array.isArray(shape) || shape.length !== 2 || !isCount(height) || !isCount(width))
    throw new Refusal([`'shape' is ${json(shape)}; it must be the numbers of rows and columns, each at least 1`]);
  return [height, width];
}

function checkAxis(axis: unknown, name: 'rows' | 'columns', length: number): readonly BiomAxis[] {
  if (!Array.isArray(axis) || axis.length !== length)
    throw new Refusal([`'${name}' has ${Array.isArray(axis) ? axis.length : 'no'} entries; 'shape' says ${length}`]);
  const faults = new Faults();
  const seen = new Set<string>();
  const checked = (axis as readonly { id?: unknown; metadata?: unknown }[]).map((entry, i) => {
    const id = entry?.id;
    if (typeof id !== 'string' || id === '' || id.length > 1_000 || /[\p{Cc}]/u.test(id))
      faults.add(
        `'${name}[${i}].id' is ${json(id)}; it must be text of 1 to 1000 characters without tabs or line ends`,
      );
    else if (seen.has(id)) faults.add(`'${name}[${i}].id' ${shown(id)} stands twice`);
    else seen.add(id);
    return { id: String(id), metadata: entry?.metadata ?? null };
  });
  faults.check();
  return checked;
}

function checkDense(data: readonly unknown[], height: number, width: number, whole: boolean): void {
  if (data.length !== height) throw new Refusal([`'data' has ${data.length} rows; 'shape' says ${height}`]);
  const faults = new Faults();
  for (const [row, cells] of data.entries()) {
    if (!Array.isArray(cells) || cells.length !== width) {
      faults.add(`'data[${row}]' has ${Array.isArray(cells) ? cells.length : 'no'} cells; 'shape' says ${width}`);
      continue;
    }
    for (const [column, value] of cells.entries())
      if (!isValue(value, whole)) faults.add(badValue(`data[${row}][${column}]`, value, whole));
  }
  faults.check();
}

function checkSparse(data: readonly unknown[], height: number, width: number, whole: boolean): void {
  const faults = new Faults();
  const seen = new Set<number>();
  for (const [i, cell] of data.entries()) {
    const [row, column, value] = Array.isArray(cell) && cell.length === 3 ? (cell as unknown[]) : [];
    if (!isIndex(row, height) || !isIndex(column, width))
      faults.add(`'data[${i}]' is ${json(cell)}; it must be [row below ${height}, column below ${width}, value]`);
    else if (!isValue(value, whole)) faults.add(badValue(`data[${i}][2]`, value, whole));
    else if (seen.has(row * width + column)) faults.add(`'data[${i}]': the cell ${row}, ${column} stands twice`);
    else seen.add(row * width + column);
  }
  faults.check();
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
const badValue = (where: string, value: unknown, whole: boolean): string =>
  `'${where}' is ${json(value)}; it must be a ${whole ? 'whole ' : ''}number`;
const json = (value: unknown): string => (value === undefined ? 'missing' : shown(JSON.stringify(value)));
