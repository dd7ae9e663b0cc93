// A terminal that remembers what it was told and what it would show of that: enough of ECMA-48 for what we write.

import type { Terminal } from '../../bin/cli/terminal/terminal.ts';

const ESCAPE = '\u001b';
/** A sequence with its count, an end of line, text, or an escape that is no sequence of ours. */
const TOKENS = new RegExp(`${ESCAPE}\\[(\\d*)([A-Z])|([\\r\\n])|([^${ESCAPE}\\r\\n]+)|(${ESCAPE})`, 'g');

export class FakeTerminal implements Terminal {
  readonly colour = false;
  /** Everything that was written, piece by piece. */
  readonly written: string[] = [];
  #columns: number;
  readonly #rows: number;
  readonly #listeners = new Set<() => void>();

  constructor(columns: number, rows = 24) {
    this.#columns = columns;
    this.#rows = rows;
  }

  readonly write = (text: string): void => {
    this.written.push(text);
  };

  columns(): number {
    return this.#columns;
  }

  rows(): number {
    return this.#rows;
  }

  onResize(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  resize(columns: number): void {
    this.#columns = columns;
    for (const listener of this.#listeners) listener();
  }

  /** The lines as they stand, wrapped at the width of now. Throws at a sequence that it does not know. */
  shown(): readonly string[] {
    const lines: string[] = [''];
    let row = 0;
    let column = 0;
    const tokens = this.written.join('').matchAll(TOKENS);
    for (const [, count, code, end, text, unknown] of tokens) {
      if (unknown !== undefined) throw new Error('an unknown sequence');
      if (code === 'A') row -= Number(count);
      else if (code === 'J') lines.splice(row, lines.length, (lines[row] ?? '').slice(0, column));
      else if (code !== undefined) throw new Error(`unknown: ${code}`);
      else if (end === '\r') column = 0;
      else if (end === '\n') {
        row++;
        column = 0;
        lines[row] ??= '';
      } else if (text !== undefined) {
        lines[row] = (lines[row] ?? '').slice(0, column).padEnd(column) + text;
        column += text.length;
      }
    }
    return lines;
  }
}
