// A header of an answer, with the line that it becomes. What is the same for every answer is made once, and the line of it
// is then one piece of text where an answer is put together; of pieces the platform makes one text for every answer anew.

export interface HeaderLine {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
  /** Both, as they are sent. */
  readonly line: string;
}

/** Neither is checked. */
export function headerLine(name: string, value: string): HeaderLine {
  return { name, value, line: `${name}: ${value}\r\n` };
}

/** For one that is kept. */
export function constantHeader(name: string, value: string): HeaderLine {
  const { line } = headerLine(name, value);
  return { name, value, line: inOnePiece(line) };
}

/**
 * The same text, as one piece in memory: what was put together of others stays a tree of them until somebody needs it whole.
 * @param text of Latin-1 characters
 */
export function inOnePiece(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
