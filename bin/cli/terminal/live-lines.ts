// Lines at the bottom of a terminal that are drawn over and over in place: a progress bar, the steps of a dataset.
//   nothing drawn   draw -> drawn
//   drawn           draw -> drawn (in place); end -> nothing drawn, the lines stay and what follows comes below them

import { cutTo, displayWidth } from './display-width.ts';
import type { Terminal } from './terminal.ts';

/** Erases from the cursor to the end of the screen (ECMA-48, ED). */
const ERASE_BELOW = '\u001b[J';

export class LiveLines {
  readonly #terminal: Terminal;
  #drawn: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Lines of plain text without end; what is too long is cut, and of too many the last are drawn. */
  draw(lines: readonly string[]): void {
    // The last column stays free: some terminals wrap as soon as it is written. What scrolled away is never drawn over.
    const cut = lines
      .slice(-Math.max(1, this.#terminal.rows() - 1))
      .map((line) => cutTo(this.#terminal.columns() - 1, line));
    this.#terminal.write(this.#toTop() + cut.join('\n'));
    this.#drawn = cut;
  }

  end(): void {
    if (this.#drawn.length > 0) this.#terminal.write('\n');
    this.#drawn = [];
  }

  /** A terminal that became narrower has wrapped what was drawn: it takes more rows than lines. */
  #toTop(): string {
    if (this.#drawn.length === 0) return '';
    const columns = this.#terminal.columns();
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / columns)), 0);
    return `\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}${ERASE_BELOW}`;
  }
}
