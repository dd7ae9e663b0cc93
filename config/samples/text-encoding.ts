// The encoding of a file. UTF-8, and UTF-16 with a byte order mark, are certain and are accepted. Everything else is refused,
// because the bytes fit several encodings; the message shows how each would read them, and says what to do.

import { isUtf8 } from 'node:buffer';
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { Refusal, type SampleIo, shown, shownShort, TextPlace } from './sample.ts';

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be';

const SAVE = 'save it as UTF-8 (in a spreadsheet program: "CSV UTF-8"; in an editor: "Save with encoding")';
const UNPACK = 'unpack it first';

/** Files that are not text, by their first bytes. */
const FORMATS: readonly (readonly [hex: string, what: string])[] = [
  ['1f8b', `is compressed with gzip; ${UNPACK}`],
  ['425a68', `is compressed with bzip2; ${UNPACK}`],
  ['fd377a585a00', `is compressed with xz; ${UNPACK}`],
  ['28b52ffd', `is compressed with Zstandard; ${UNPACK}`],
  ['504b0304', 'is a zip archive or a workbook (.xlsx, .ods); save the sheet as text (CSV UTF-8), or unpack it'],
  ['d0cf11e0', 'is a workbook or document of old Office programs; save the sheet as text (CSV UTF-8)'],
  ['89484446', 'is HDF5, not text; a BIOM 2 file is converted with: biom convert --to-json (it may round decimals)'],
  ['25504446', 'is a PDF document, not text'],
  ['7b5c727466', 'is a document in rich text (RTF); save it as plain text in UTF-8'],
  ['fffe0000', `is text in UTF-32; ${SAVE}`],
  ['0000feff', `is text in UTF-32; ${SAVE}`],
];
const HEAD_BYTES = 1_024;

/** The encoding of the text. Throws a {@link Refusal} if the first bytes are those of another kind of file. */
export function encodingOf(path: string, name: string): TextEncoding {
  const head = headOf(path);
  for (const [hex, what] of FORMATS)
    if (head.toString('hex', 0, hex.length / 2) === hex) throw new Refusal([`${shown(name)} ${what}`]);
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (looksLikeUtf16(head))
    throw new Refusal([`${shown(name)} looks like UTF-16 without its byte order mark; ${SAVE}`]);
  return 'utf-8';
}

/** Tells the owner if the text was converted. */
export function sayConverted(path: string, name: string, io: Pick<SampleIo, 'say'>): void {
  if (encodingOf(path, name) !== 'utf-8') io.say(`${shown(name)} is in UTF-16; it was converted to UTF-8`);
}

/** The message for text that its encoding cannot decode. */
export async function undecodable(path: string, name: string, encoding: TextEncoding): Promise<Refusal> {
  if (encoding !== 'utf-8')
    return new Refusal([
      `${shown(name)} is damaged: half of a UTF-16 character stands alone, or the end is cut; ${SAVE}`,
    ]);
  const { place, bytes, at } = await firstFault(path);
  const where = `${shown(name)} is not a text file in UTF-8: ${place}`;
  const byte = `the byte ${bytes[at]?.toString(16).toUpperCase()}`;
  if (at >= bytes.length) return new Refusal([`${where}: the file ends within a character`]);
  const readings = readingsOf(bytes);
  if (readings.length === 0) return new Refusal([`${where}: ${byte} fits no encoding that is known here; ${SAVE}`]);
  return new Refusal([`${where}: ${byte}; it may be ${readings.join(' or ')}; ${SAVE}`]);
}

function headOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** In Latin text in UTF-16, almost every second byte is zero, and almost none of the others. */
function looksLikeUtf16(head: Buffer): boolean {
  const zeros = [0, 0];
  for (const [i, byte] of head.entries()) if (byte === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  return Math.min(even, odd) < Math.max(even, odd) / 8 && Math.max(even, odd) > head.length / 4;
}

interface EncodingFault {
  readonly place: TextPlace;
  /** The text around the fault, from the beginning of its line or of the ASCII text before it. */
  readonly bytes: Buffer;
  readonly at: number;
}

const AROUND_BYTES = 400;
const MOST_READINGS = 5;

async function firstFault(path: string): Promise<EncodingFault> {
  const place = new TextPlace();
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path)) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const { end, fault } = validUtf8(bytes);
    place.advance(bytes.toString('utf8', 0, end));
    if (fault) return { place, ...around(bytes, end) };
    rest = bytes.subarray(end);
  }
  return { place, bytes: Buffer.alloc(0), at: 0 };
}

/** How many bytes are complete characters, and whether the bytes after them cannot be one. */
function validUtf8(bytes: Buffer): { readonly end: number; readonly fault: boolean } {
  let i = 0;
  while (i < bytes.length) {
    const lead = bytes[i] ?? 0;
    const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length === 0) return { end: i, fault: true };
    if (i + length > bytes.length) return { end: i, fault: !continues(bytes, i + 1) };
    if (length > 1 && !isUtf8(bytes.subarray(i, i + length))) return { end: i, fault: true };
    i += length;
  }
  return { end: i, fault: false };
}

function continues(bytes: Buffer, from: number): boolean {
  return bytes.subarray(from).every((byte) => byte >= 0x80 && byte < 0xc0);
}

function around(bytes: Buffer, fault: number): { readonly bytes: Buffer; readonly at: number } {
  const isText = (byte: number): boolean => byte >= 0x20 && byte < 0x80;
  let start = fault;
  while (start > 0 && fault - start < 30 && isText(bytes[start - 1] ?? 0)) start--;
  let end = fault;
  while (end < bytes.length && end - fault < AROUND_BYTES && bytes[end] !== 0x0a && bytes[end] !== 0x0d) end++;
  return { bytes: bytes.subarray(start, end), at: fault - start };
}

interface Legacy {
  readonly name: string;
  readonly label: string;
  /** All characters besides ASCII in a plausible reading. */
  readonly letters: RegExp;
  /** Does not occur in a plausible reading: scripts mixed in one word, or more accents in a row than any word has. */
  readonly odd: RegExp;
}

const WITHIN_LATIN_WORD = /[A-Za-z][^ -~\s\p{P}\p{S}]|[^ -~\s\p{P}\p{S}][A-Za-z]/u;
const ACCENTS_IN_A_ROW = /[^ -~\t]{4}/;
const JAPANESE = /^[\p{sc=Hira}\p{sc=Han}\u3000-\u303f\u30a0-\u30ff\uff01-\uff5e]*$/u;
const CHINESE = /^[\p{sc=Han}\u3000-\u303f\uff01-\uff5e\u2013-\u2026]*$/u;

/** Encodings that are still in use, the more likely ones first. */
const LEGACY: readonly Legacy[] = [
  {
    name: 'Windows-1252 (Latin-1)',
    label: 'windows-1252',
    letters: /^[\u00a0-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u2013-\u2026\u20ac\u2122]*$/,
    odd: ACCENTS_IN_A_ROW,
  },
  { name: 'Shift-JIS', label: 'shift_jis', letters: JAPANESE, odd: WITHIN_LATIN_WORD },
  { name: 'EUC-KR', label: 'euc-kr', letters: /^[\uac00-\ud7a3\u3000-\u303f\uff01-\uff5e]*$/, odd: WITHIN_LATIN_WORD },
  {
    name: 'Windows-1251',
    label: 'windows-1251',
    letters: /^[\u0410-\u044f\u0401\u0451\u0490\u0491\u0404\u0454-\u0457\u00a0\u00ab\u00bb\u2013-\u2026\u2116]*$/,
    odd: WITHIN_LATIN_WORD,
  },
  { name: 'GBK', label: 'gbk', letters: CHINESE, odd: WITHIN_LATIN_WORD },
  { name: 'EUC-JP', label: 'euc-jp', letters: JAPANESE, odd: WITHIN_LATIN_WORD },
  { name: 'Big5', label: 'big5', letters: CHINESE, odd: WITHIN_LATIN_WORD },
  {
    name: 'Windows-1250',
    label: 'windows-1250',
    letters: /^[\u00a0-\u017f\u02c7-\u02dd\u2013-\u2026\u20ac\u2122]*$/,
    odd: ACCENTS_IN_A_ROW,
  },
];

/** The readings of the bytes in each encoding: the plausible ones; if there are none, the possible ones. */
function readingsOf(bytes: Buffer): readonly string[] {
  const possible = new Map<string, Legacy>();
  for (const legacy of LEGACY) {
    const text = decoded(bytes, legacy.label);
    if (text !== undefined && legacy.letters.test(text.replace(/[\t -~]/g, '')) && !possible.has(text))
      possible.set(text, legacy);
  }
  const plausible = [...possible].filter(([text, { odd }]) => !odd.test(text));
  return (plausible.length > 0 ? plausible : [...possible])
    .slice(0, MOST_READINGS)
    .map(([text, { name }]) => `${name}, which reads ${shownShort(text, 40)}`);
}

function decoded(bytes: Buffer, label: string): string | undefined {
  try {
    // Decodes as a stream, because the piece may end inside a character.
    return new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
