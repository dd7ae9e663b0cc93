// Redraws a full terminal screen. Its previous content is restored afterwards.
//   taken        draw -> taken; dispose -> given back
//   given back   everything is ignored

import type { styleText } from 'node:util';
import { cutTo, displayWidth } from './table.ts';
import { styled, type Terminal } from './terminal.ts';

export interface ScreenLine {
  /** Plain text without a newline. */
  readonly text: string;
  readonly style?: Parameters<typeof styleText>[0];
}

/** Alternate screen buffer and hidden cursor (xterm control sequences, which all current terminals support). */
const TAKE = '\u001b[?1049h\u001b[?25l';
const GIVE_BACK = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const ERASE_LINE = '\u001b[K';
const ERASE_BELOW = '\u001b[J';

export class Screen implements Disposable {
  readonly #terminal: Terminal;
  readonly #stopListening: () => void;
  #lines: readonly ScreenLine[] = [];
  #taken = true;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(TAKE);
    this.#stopListening = terminal.onResize(() => this.draw(this.#lines));
  }

  /** Truncates lines at the right, and omits lines that do not fit above the last one. */
  draw(lines: readonly ScreenLine[]): void {
    if (!this.#taken) return;
    this.#lines = lines;
    const rows = this.#terminal.rows();
    // Keep the last line: it lists the keys.
    const shown = lines.length <= rows ? lines : [...lines.slice(0, rows - 2), { text: '…' }, ...lines.slice(-1)];
    const drawn = shown.map(({ text, style }) => {
      const cut = cutTo(this.#terminal.columns(), text);
      return `${style === undefined ? cut : styled(this.#terminal, style, cut)}${ERASE_LINE}`;
    });
    // No newline after the last line: it would scroll a full screen.
    this.#terminal.write(HOME + drawn.join('\r\n') + ERASE_BELOW);
  }

  [Symbol.dispose](): void {
    if (!this.#taken) return;
    this.#taken = false;
    this.#stopListening();
    this.#terminal.write(GIVE_BACK);
  }
}

// Lines at the bottom of a terminal that are redrawn in place: a progress bar, the steps of a dataset.
//   nothing drawn   draw -> drawn
//   drawn           draw -> drawn (in place); end -> nothing drawn; the lines stay and later output appears below them

/** Erases from the cursor to the end of the screen (ECMA-48, ED). */

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
