// A terminal to draw on: how large it is, when that changes, whether colours are wanted.

import { styleText } from 'node:util';

export interface Terminal {
  /** Written at once. */
  readonly write: (text: string) => void;
  columns(): number;
  rows(): number;
  /** Calls back whenever the size changes; the returned function ends that. */
  onResize(listener: () => void): () => void;
  /** False for NO_COLOR and terminals without colours. */
  readonly colour: boolean;
}

/** The part of node:tty's WriteStream that is needed. */
export interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  hasColors?(env: object): boolean;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** Of a terminal that does not tell its size, such as a serial line. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Undefined for a pipe or file, and for a terminal that can move no cursor (TERM=dumb). */
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

/** The text in that style where colours are wanted, else as it is. */
export function styled(terminal: Terminal | undefined, style: Parameters<typeof styleText>[0], text: string): string {
  return terminal?.colour ? styleText(style, text, { validateStream: false }) : text;
}
