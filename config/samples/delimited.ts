// Tables of text: comma-separated with quotes (RFC 4180) or tab-separated without. Read as a stream, cell by cell.

import { Refusal, shown } from './sample.ts';
import { textChunks } from './text-lines.ts';

export interface DelimitedRow {
  /** Line of the file on which the row begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface DelimitedLimits {
  readonly maxColumns: number;
  /** Characters. */
  readonly maxCell: number;
}

/** Rows that are not empty. A cell or a row beyond the limits ends the reading with a {@link Refusal}. */
export async function* delimitedRows(
  path: string,
  name: string,
  delimiter: ',' | '\t',
  limits: DelimitedLimits,
): AsyncGenerator<DelimitedRow> {
  const parser = new RowParser(name, delimiter, limits);
  for await (const chunk of textChunks(path, name)) yield* parser.write(chunk);
  yield* parser.end();
}

/** One row as CSV, with its line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}

//   start --quote--> quoted --quote--> closed --quote--> quoted (a doubled quote is one)
//   start --other--> plain;  start, plain, closed --delimiter--> start (next cell), --LF--> start (next row)
type State = 'start' | 'plain' | 'quoted' | 'closed';

class RowParser {
  readonly #name: string;
  readonly #delimiter: string;
  readonly #limits: DelimitedLimits;
  #state: State = 'start';
  #cells: string[] = [];
  #cell = '';
  #line = 1;
  #rowLine = 1;

  constructor(name: string, delimiter: string, limits: DelimitedLimits) {
    this.#name = name;
    this.#delimiter = delimiter;
    this.#limits = limits;
  }

  *write(text: string): Generator<DelimitedRow> {
    for (const character of text) {
      if (character === '\n') this.#line++;
      if (this.#state === 'quoted') this.#quoted(character);
      else if (character === '\n') yield* this.#endRow();
      else if (character === this.#delimiter) this.#endCell();
      else this.#open(character);
    }
  }

  *end(): Generator<DelimitedRow> {
    if (this.#state === 'quoted') this.#refuse('a quoted cell is not closed');
    if (this.#cells.length > 0 || this.#cell !== '' || this.#state === 'closed') yield* this.#endRow();
  }

  #open(character: string): void {
    if (this.#delimiter === ',' && character === '"') {
      if (this.#state === 'start') this.#state = 'quoted';
      else if (this.#state === 'closed') {
        this.#append('"');
        this.#state = 'quoted';
      } else this.#append(character);
      return;
    }
    if (this.#state === 'closed' && character !== '\r')
      this.#refuse(`${shown(character)} after a closing quote; a comma or a line end must follow`);
    if (this.#state === 'start') this.#state = 'plain';
    this.#append(character);
  }

  #quoted(character: string): void {
    if (character === '"') this.#state = 'closed';
    else this.#append(character);
  }

  #append(character: string): void {
    this.#cell += character;
    if (this.#cell.length > this.#limits.maxCell + 1)
      this.#refuse(`a cell is longer than ${this.#limits.maxCell} characters`);
  }

  #endCell(): void {
    if (this.#cell.length > this.#limits.maxCell)
      this.#refuse(`a cell is longer than ${this.#limits.maxCell} characters`);
    if (this.#cells.length >= this.#limits.maxColumns) this.#refuse(`more than ${this.#limits.maxColumns} columns`);
    this.#cells.push(this.#cell);
    this.#cell = '';
    this.#state = 'start';
  }

  *#endRow(): Generator<DelimitedRow> {
    if (this.#cell.endsWith('\r')) this.#cell = this.#cell.slice(0, -1);
    const line = this.#rowLine;
    this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    this.#rowLine = this.#line;
    if (cells.length > 1 || cells[0] !== '') yield { line, cells };
  }

  #refuse(fault: string): never {
    throw new Refusal([`${shown(this.#name)}, line ${this.#rowLine}: ${fault}`]);
  }
}
