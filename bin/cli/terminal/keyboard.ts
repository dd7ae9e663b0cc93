// Reads key presses without waiting for the end of a line.

export interface Keyboard {
  /**
   * Puts the terminal into raw mode: keys are not echoed and send no signals (Ctrl-C is a key). The returned function undoes
   * that.
   */
  onKey(listener: (key: string) => void): () => void;
}

/** The part of node:tty's ReadStream that is used. */
export interface KeyStream {
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
