// Lines at the bottom of a terminal that are redrawn in place: a progress bar, the steps of a dataset.
//   nothing drawn   draw -> drawn
//   drawn           draw -> drawn (in place); end -> nothing drawn; the lines stay and later output appears below them

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

  /** Draws lines of plain text without newlines. Long lines are truncated; of too many lines only the last are drawn. */
  draw(lines: readonly string[]): void {
    // The last column stays free: some terminals wrap as soon as it is written. Lines that scrolled off cannot be redrawn.
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

  /** If the terminal became narrower, it has wrapped the lines, so they occupy more rows. */
  #toTop(): string {
    if (this.#drawn.length === 0) return '';
    const columns = this.#terminal.columns();
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / columns)), 0);
    return `\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}${ERASE_BELOW}`;
  }
}
