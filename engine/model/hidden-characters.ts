// Characters that are invisible or make text look like another text: control characters, line separators, and characters that
// change the direction of what follows (`gene<U+202E>txt.exe` looks like `geneexe.txt`). No name may contain them. Joiners and
// marks within words are letters of some scripts and are allowed.

export interface HiddenCharacter {
  /** Such as `U+202E`. */
  readonly code: string;
  /** In characters, from 1. */
  readonly position: number;
  readonly kind: 'a control character' | 'a line break' | 'a character that changes the direction of text';
}

const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const LINE_BREAK = /[\n\r\u0085\u2028\u2029]/;
const IN_NAMES = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** Tabs, line feeds and carriage returns are allowed. */
const IN_LINES = /[^\P{Cc}\t\n\r\u0085]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** The first hidden character. @param lines whether the text may have several lines */
export function hiddenCharacter(text: string, lines = false): HiddenCharacter | undefined {
  const index = text.search(lines ? IN_LINES : IN_NAMES);
  if (index < 0) return undefined;
  const found = text.charAt(index);
  const code = `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  const position = [...text.slice(0, index)].length + 1;
  if (DIRECTION.test(found)) return { code, position, kind: 'a character that changes the direction of text' };
  return { code, position, kind: LINE_BREAK.test(found) ? 'a line break' : 'a control character' };
}

/** The text for a message: hidden characters are replaced by their names. */
export function visible(text: string): string {
  let shown = '';
  for (const character of text) {
    const hidden = hiddenCharacter(character);
    shown += hidden ? `<${hidden.code}>` : character;
  }
  return shown;
}

/** Continues a sentence: `holds U+202E at position 5, ..`. */
export const hiddenWords = ({ code, position, kind }: HiddenCharacter): string =>
  `the character ${code} at position ${position}, ${kind}`;
