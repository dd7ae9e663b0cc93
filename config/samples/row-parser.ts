// Reads the rows of a delimited text strictly and as a stream: where other programs guess, it reports a fault. Lines end with
// LF, CR LF or CR. No library does this. The maintained ones (csv-parse, Papa Parse) accept quotes inside plain cells and
// garbage after quoted cells only together, and report records where the owner needs lines.

import { bytesOf, Refusal, shown, shownShort, tooMany } from './sample.ts';

export interface Dialect {
  /** Tables separated by colons or blanks are refused; see `delimited.ts`. */
  readonly delimiter: ',' | ';' | '\t' | '|' | ':' | ' ';
  readonly quote: '"' | "'";
  /** How a quote is written inside quotes: doubled, or after a backslash, which then also escapes in plain cells. */
  readonly escape: 'doubled' | 'backslash';
}

/** RFC 4180. The samples write this form. */
export const CSV: Dialect = { delimiter: ',', quote: '"', escape: 'doubled' };

export interface DelimitedRow {
  /** The line of the file where the row begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface DelimitedLimits {
  readonly columns: number;
  readonly cellBytes: number;
}

//   start --quote--> quoted --quote--> closed --quote--> quoted (a doubled quote is one)
//   start --other--> plain;  start, plain, closed --delimiter--> start (next cell), --line end--> start (next row)
type State = 'start' | 'plain' | 'quoted' | 'closed';

/** Takes the text in pieces and returns its rows, except empty ones. Throws a {@link Refusal} at the first fault. */
export class RowParser {
  readonly #name: string;
  readonly #dialect: Dialect;
  readonly #limits: DelimitedLimits;
  readonly #special: RegExp;
  /** How often the quote character was used as a quote or escaped, and how often a backslash escaped. */
  quotes = 0;
  escapes = 0;
  #state: State = 'start';
  #escaping = false;
  #afterCr = false;
  /** The last CR ended a row, so an LF after it does not end another. */
  #crEndedRow = false;
  #cells: string[] = [];
  #cell = '';
  #line = 1;
  #rowLine = 1;

  constructor(name: string, dialect: Dialect, limits: DelimitedLimits) {
    this.#name = name;
    this.#dialect = dialect;
    this.#limits = limits;
    // The text between two of these characters is taken at once.
    this.#special = new RegExp(
      `[\\r\\n${dialect.quote}${dialect.delimiter}${dialect.escape === 'backslash' ? '\\\\' : ''}]`,
      'g',
    );
  }

  *write(text: string): Generator<DelimitedRow> {
    let at = 0;
    while (at < text.length) {
      this.#special.lastIndex = at;
      const next = this.#escaping ? at : (this.#special.exec(text)?.index ?? text.length);
      if (next > at) {
        this.#afterCr = false;
        this.#append(text.slice(at, next));
      }
      const character = text[next];
      if (character !== undefined) yield* this.#take(character);
      at = next + 1;
    }
  }

  *end(): Generator<DelimitedRow> {
    if (this.#state === 'quoted') this.#refuse(`the quoted cell ${shown(this.#cell)} is not closed`);
    if (this.#escaping) this.#refuse('a backslash at the end of the file');
    if (this.#cells.length > 0 || this.#state !== 'start') yield* this.#endRow();
  }

  *#take(character: string): Generator<DelimitedRow> {
    const endsLine = character === '\r' || character === '\n';
    const second = character === '\n' && this.#afterCr;
    const endsRow = endsLine && !this.#escaping && this.#state !== 'quoted';
    if (endsLine && !second) this.#line++;
    this.#afterCr = character === '\r';
    if (endsRow && second && this.#crEndedRow) this.#rowLine = this.#line;
    else if (endsRow) yield* this.#endRow();
    else if (this.#escaping) this.#escape(character);
    else if (character === '\\' && this.#dialect.escape === 'backslash' && this.#state !== 'closed')
      this.#escaping = true;
    else if (this.#state === 'quoted') this.#quoted(character);
    else if (character === this.#dialect.delimiter) this.#endCell();
    else if (character === this.#dialect.quote) this.#openQuote();
    else this.#append(character);
    this.#crEndedRow = endsRow && this.#afterCr;
  }

  #openQuote(): void {
    const { quote } = this.#dialect;
    if (this.#state === 'start') {
      this.quotes++;
      this.#state = 'quoted';
    } else if (this.#state === 'closed' && this.#dialect.escape === 'doubled') {
      this.#state = 'quoted';
      this.#cell += quote;
    } else if (this.#state === 'plain' && this.#cell.trim() === '')
      this.#refuse(`cell ${this.#cells.length + 1} has a blank before its quote; remove the blank`);
    else this.#append(quote);
  }

  #quoted(character: string): void {
    if (character === this.#dialect.quote) this.#state = 'closed';
    else this.#append(character);
  }

  #escape(character: string): void {
    this.#escaping = false;
    this.escapes++;
    if (character === this.#dialect.quote) this.quotes++;
    const { quote, delimiter } = this.#dialect;
    if (!['\\', '\r', '\n', quote, delimiter].includes(character))
      this.#refuse(`${shown(`\\${character}`)} is no escape`);
    if (this.#state === 'start') this.#state = 'plain';
    this.#append(character);
  }

  #append(text: string): void {
    if (this.#state === 'closed')
      this.#refuse(
        `${shownShort(text, 20)} after the closing quote of ${shown(this.#cell)}; a separator or a line end must follow, and a ` +
          'quote within quotes is written twice',
      );
    if (this.#state === 'start') this.#state = 'plain';
    this.#cell += text;
    // The rest of a cell that is too long is not kept.
    if (this.#cell.length > this.#limits.cellBytes) this.#checkCell();
  }

  #checkCell(): void {
    const { cellBytes } = this.#limits;
    if (bytesOf(this.#cell) <= cellBytes) return;
    const open = this.#state === 'quoted' ? '; is its quote closed?' : '';
    this.#refuse(
      `cell ${this.#cells.length + 1}, ${shownShort(this.#cell, 30)}, has more than ${cellBytes} bytes in UTF-8${open}`,
    );
  }

  #endCell(): void {
    this.#checkCell();
    if (this.#cells.length >= this.#limits.columns)
      this.#refuse(`column ${shownShort(this.#cell, 30)} ${tooMany(this.#cells.length + 1, this.#limits.columns)}`);
    this.#cells.push(this.#cell);
    this.#cell = '';
    this.#state = 'start';
  }

  *#endRow(): Generator<DelimitedRow> {
    const blank = this.#cells.length === 0 && this.#state === 'start';
    const line = this.#rowLine;
    if (!blank) this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    this.#rowLine = this.#line;
    if (!blank) yield { line, cells };
  }

  #refuse(fault: string): never {
    throw new Refusal([`${shown(this.#name)}, line ${this.#rowLine}: ${fault}`]);
  }
}
