// A terminal to draw on: its size, size changes, and whether to use colors.

import { styleText } from 'node:util';

export interface Terminal {
  /** Writes synchronously. */
  readonly write: (text: string) => void;
  columns(): number;
  rows(): number;
  /** Calls `listener` whenever the size changes. Returns a function that stops that. */
  onResize(listener: () => void): () => void;
  /** False for NO_COLOR and for terminals without colors. */
  readonly colour: boolean;
}

/** The part of node:tty's WriteStream that is used. */
interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  hasColors?(env: object): boolean;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** For a terminal that does not report its size, such as a serial line. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Undefined for a pipe or file, and for a terminal that cannot move the cursor (TERM=dumb). */
export function terminalOf(
  stream: TerminalStream,
  env: Readonly<Record<string, string | undefined>>,
  write: (text: string) => void,
): Terminal | undefined {
  if (stream.isTTY !== true || env.TERM === 'dumb') return undefined;
  return {
    write,
    columns: () => stream.columns || DEFAULT_COLUMNS,
    rows: () => stream.rows || DEFAULT_ROWS,
    onResize(listener) {
      stream.on('resize', listener);
      return () => stream.off('resize', listener);
    },
    colour: stream.hasColors?.(env) ?? false,
  };
}

/** Styles the text if colors are wanted; otherwise returns it unchanged. */
export function styled(terminal: Terminal | undefined, style: Parameters<typeof styleText>[0], text: string): string {
  return terminal?.colour ? styleText(style, text, { validateStream: false }) : text;
}

// Reads key presses without waiting for the end of a line.

export interface Keyboard {
  /**
   * Puts the terminal into raw mode: keys are not echoed and send no signals (Ctrl-C is a key). The returned function undoes
   * that.
   */
  onKey(listener: (key: string) => void): () => void;
}

/** The part of node:tty's ReadStream that is used. */
interface KeyStream {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  setEncoding(encoding: 'utf8'): unknown;
  on(event: 'data', listener: (text: string) => void): unknown;
  off(event: 'data', listener: (text: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export function keyboardOf(stream: KeyStream): Keyboard | undefined {
  if (stream.isTTY !== true) return undefined;
  return {
    onKey(listener) {
      const heard = (text: string): void => {
        for (const key of text) listener(key);
      };
      stream.setRawMode?.(true);
      stream.setEncoding('utf8');
      stream.on('data', heard);
      stream.resume();
      return () => {
        stream.off('data', heard);
        stream.setRawMode?.(false);
        stream.pause();
      };
    },
  };
}
