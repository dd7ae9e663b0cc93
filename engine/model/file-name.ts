// A user's file name is a label, never a path (docs/design/decisions.md#ids-and-object-layout).
//
// Hidden characters are those that are invisible or make text look like another text: control characters, line separators, and
// characters that change the direction of what follows (`gene<U+202E>txt.exe` looks like `geneexe.txt`). No name may contain
// them. Joiners and marks within words are letters of some scripts and are allowed.

interface HiddenCharacter {
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

const MAX_BYTES = 255;

/**
 * The name as we store it (NFC), or what is wrong with it: no separators, no control characters, not `.` or `..`, 1..255 bytes
 * of UTF-8.
 * @param stored for a file that may have been stored before the rules were this strict
 */
export function checkFileName(raw: string, stored = false): { readonly name: string } | { readonly fault: string } {
  const name = raw.normalize('NFC');
  if (name === '') return { fault: 'is empty' };
  if (name === '.' || name === '..') return { fault: `must not be '${name}'` };
  if (/[/\\]/.test(name)) return { fault: 'must not hold / or \\' };
  const hidden = hiddenCharacter(name);
  if (hidden && !(stored && /^\P{Cc}*$/u.test(name))) return { fault: `must not hold ${hiddenWords(hidden)}` };
  if (!name.isWellFormed()) return { fault: 'must not hold half of a surrogate pair' };
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_BYTES) return { fault: `is longer than ${MAX_BYTES} bytes: it has ${bytes}` };
  return { name };
}

/** Names are unique per folder regardless of case; two names clash when their keys are equal. */
export const fileNameKey = (name: string): string => name.normalize('NFC').toLowerCase();

/** Prefix of the files that we store beside those of a dataset. */
export const RESERVED_PREFIX = 'vdi-';
const METADATA = 'vdi-meta.json';

/**
 * Why a user's file cannot have the name, or undefined. Our own file would replace it.
 * @param path relative, `/` between folders; names inside folders are free
 */
export function reservedNameFault(path: string): string | undefined {
  if (!path.startsWith(RESERVED_PREFIX) && path.toLowerCase() !== METADATA) return undefined;
  return `is a reserved name: names that begin with '${RESERVED_PREFIX}' are those of our own files; leave it out or rename it`;
}

/**
 * Names, in lower case, of files that desktops and office programs add beside the user's own, mostly unseen. They are never
 * data: every upload leaves them out and names them once.
 */
const FILES: ReadonlySet<string> = new Set([
  ...['.ds_store', '.localized', '.apdisk', 'icon\r'],
  ...['thumbs.db', 'thumbs.db:encryptable', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini'],
  '.directory',
]);
const FOLDERS: ReadonlySet<string> = new Set([
  ...['__macosx', '.spotlight-v100', '.trashes', '.fseventsd', '.temporaryitems', '.documentrevisions-v100'],
  ...['$recycle.bin', 'system volume information'],
]);
/** Prefixes: AppleDouble; lock files of Microsoft Office and of LibreOffice. */
const STARTS = ['._', '~$', '.~lock.'];

/** @param path relative, `/` between folders */
export function isDesktopJunk(path: string): boolean {
  const segments = path.split('/').filter((segment) => segment !== '');
  const last = segments.at(-1);
  if (last === undefined) return false;
  if (segments.some((segment) => FOLDERS.has(segment.toLowerCase()))) return true;
  return FILES.has(last.toLowerCase()) || STARTS.some((start) => last.startsWith(start));
}

/**
 * A sentence for the owner; undefined when nothing was left out.
 * @param more how many files are not in `paths`
 */
export function leftOutNote(paths: readonly string[], more = 0): string | undefined {
  if (paths.length === 0) return undefined;
  const named = paths.map((path) => `'${path.replace('\r', '\\r')}'`).join(', ');
  return `left out, as files that desktops and office programs add: ${named}${more > 0 ? ` and ${more} more` : ''}`;
}
