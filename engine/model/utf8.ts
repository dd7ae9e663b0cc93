// The only decoder of text from outside: strict UTF-8. Nothing is replaced; a U+FFFD in the text is kept.
//
// File names that are not UTF-8 are read in the code pages that older programs write. The bytes do not say which code page they
// use, so a name is converted only if exactly one reading makes sense; otherwise the owner is told what was found.

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';

/** The text, including a byte order mark, or undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return STRICT.decode(bytes);
  } catch {
    return undefined;
  }
}

/** For documents: drops a byte order mark at the start. */
export function decodeDocument(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return text?.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** Room for the note that says how much was cut. */
const NOTE_BYTES = 32;

/** The beginning of the text in at most `most` bytes of UTF-8, with a note that says how many bytes were left out. */
export function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let to = Math.max(0, most - NOTE_BYTES);
  while (isInside(bytes, to)) to--;
  return `${bytes.toString('utf8', 0, to)}… (${bytes.length - to} bytes left out)`;
}

/** Like {@link firstBytes}, with the end of the text. */
export function lastBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let from = bytes.length - Math.max(0, most - NOTE_BYTES);
  while (isInside(bytes, from)) from++;
  return `(${from} bytes left out) …${bytes.toString('utf8', from)}`;
}

const isInside = (bytes: Uint8Array, at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;

/** Bytes for a message: printable ASCII unchanged, everything else as `\xNN`. */
export function shownBytes(bytes: Uint8Array): string {
  let shown = '';
  for (const byte of bytes.subarray(0, MOST_SHOWN))
    shown += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  return bytes.length > MOST_SHOWN ? `${shown}…` : shown;
}

const MOST_SHOWN = 200;

interface Reading {
  readonly text: string;
  /** The name under which a person would look it up. */
  readonly codePage: string;
}

/** The upper half of code page 437, which the zip format uses for names that are not marked as UTF-8. */
const UPPER_437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';
const EAST_ASIAN = [
  ['shift_jis', 'Shift-JIS'],
  ['gbk', 'GBK'],
] as const;
const KANA = /[\u3041-\u30ff]/;
/** Latin words contain no ideographs, but the bytes of Latin words may also encode one. */
const INSIDE_LATIN = /[A-Za-z][\p{Script=Han}]|[\p{Script=Han}][A-Za-z]/u;
const SENSIBLE = /^[\p{L}\p{M}\p{N}\p{Zs}\u0020-\u007e\u3000-\u303f]*$/u;

/** The readings that look like words rather than signs and boxes; the bytes are not UTF-8. */
function readingsOf(bytes: Uint8Array): readonly Reading[] {
  const found: Reading[] = [];
  for (const [label, codePage] of EAST_ASIAN) {
    const text = decode(label, bytes);
    if (text !== undefined && SENSIBLE.test(text) && (KANA.test(text) || !INSIDE_LATIN.test(text)))
      found.push({ text, codePage });
  }
  const dos = decode437(bytes);
  if (isEuropean(dos)) found.push({ text: dos, codePage: CODE_PAGE_437 });
  const windows = decode('windows-1252', bytes);
  if (windows !== undefined && isEuropean(windows)) found.push({ text: windows, codePage: 'Windows-1252 (Latin-1)' });
  return found;
}

const CODE_PAGE_437 = 'code page 437';

/** The name in code page 437, when it makes sense in no other of these code pages. */
export function onlyIn437(bytes: Uint8Array): string | undefined {
  const [first, ...others] = readingsOf(bytes).filter(({ codePage }) => !codePage.startsWith('Windows'));
  return first?.codePage === CODE_PAGE_437 && others.length === 0 ? first.text : undefined;
}

/** What is wrong with the name and how to fix it; append it to the name of the affected file. */
export function foreignNameFault(bytes: Uint8Array): string {
  const readings = readingsOf(bytes).map(({ text, codePage }) => `'${text}' in ${codePage}`);
  const found = readings.length === 0 ? '' : ` (it would read ${readings.join(', ')})`;
  return `has a name that is not UTF-8${found}: rename it with plain letters, or have the name written as UTF-8`;
}

/** The bytes, quoted. */
export const quoteBytes = (bytes: Uint8Array): string => `'${shownBytes(bytes)}'`;

function decode(label: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const decode437 = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : UPPER_437[byte - 0x80])).join('');

/** Excludes the backslash: for a European writer it separates folders, in East Asian text it is the second byte of a letter. */
const isEuropean = (text: string): boolean =>
  /^[\p{Script=Latin}\p{M}\p{N}\p{Zs}\u0020-\u005b\u005d-\u007e]*$/u.test(text);
