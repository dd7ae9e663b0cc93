// A place in a text as people count it: line and column from 1. A line ends with LF, CR LF or CR.

export class TextPlace {
  line = 1;
  /** In characters (code points). */
  column = 1;
  #afterCr = false;

  /** Moves behind this piece of the text, which may begin or end anywhere. */
  advance(text: string): void {
    for (const character of text) {
      if (character === '\n' && this.#afterCr) {
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = character === '\r';
      if (character === '\n' || character === '\r') {
        this.line++;
        this.column = 1;
      } else this.column++;
    }
  }

  toString(): string {
    return `line ${this.line}, column ${this.column}`;
  }
}

/** Place of the character at this index (in code units). */
export function placeAt(text: string, index: number): TextPlace {
  const place = new TextPlace();
  place.advance(text.slice(0, index));
  return place;
}
