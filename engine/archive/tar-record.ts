// Decodes the records of a tar before a file's content (V7, POSIX ustar, GNU, pax), by the rules of GNU tar and libarchive.
// Names are bytes; the reader decides on their encoding. Throws a plain Error when this is not a tar.

export type TarType = 'file' | 'folder' | 'link' | 'pax' | 'global pax' | 'long path' | 'long link' | 'other';

export interface TarRecord {
  readonly name: Buffer;
  /** Bytes of content; NaN when the field is not a number. */
  readonly size: number;
  readonly type: TarType;
}

const TYPES: Readonly<Record<string, TarType>> = {
  '\0': 'file',
  ...{ 0: 'file', 1: 'link', 2: 'link', 5: 'folder', 7: 'file' },
  ...{ x: 'pax', g: 'global pax', L: 'long path', N: 'long path', K: 'long link' },
};
/** Sum of a record of zeros, because the sum's own field counts as blanks. */
const EMPTY_SUM = 8 * 0x20;
const PLACE = { size: 124, sum: 148, type: 156, magic: 257, prefix: 345 } as const;
const SPACE = 0x20;
const SLASH = Buffer.from('/');
const LINE_END = 0x0a;

/** Undefined for a record of zeros, which ends or pads an archive. */
export function decodeRecord(record: Buffer): TarRecord | undefined {
  const sum = sumOf(record);
  if (sum === EMPTY_SUM) return undefined;
  if (sum !== decodeNumber(record.subarray(PLACE.sum, PLACE.sum + 8)))
    throw new Error('the checksum of a record is wrong, or this is no tar');
  // Without a magic it comes from Unix V7 or a relative, which know neither a prefix nor other types; its sum was right.
  const posix = record.toString('latin1', PLACE.magic, PLACE.magic + 6) === 'ustar\0';
  const prefix = posix ? beforeNul(record.subarray(PLACE.prefix, PLACE.prefix + 155)) : NOTHING;
  const rest = beforeNul(record.subarray(0, 100));
  const name = prefix.length > 0 ? Buffer.concat([prefix, SLASH, rest]) : rest;
  const type = TYPES[String.fromCharCode(record[PLACE.type] ?? 0)] ?? 'other';
  return { name, size: decodeNumber(record.subarray(PLACE.size, PLACE.size + 12)), type };
}

const NOTHING = Buffer.alloc(0);

/** The bytes before the first NUL, copied because a record is valid only until the next one is requested. */
export function beforeNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end === -1 ? bytes.length : end));
}

/** Values of the lines `LENGTH KEY=VALUE\n` by key. An invalid line is an error, because what follows it would be lost. */
export function decodePax(bytes: Buffer): Readonly<Record<string, Buffer>> {
  const found: Record<string, Buffer> = Object.create(null);
  for (let rest = bytes; rest.length > 0 && rest[0] !== 0; ) {
    const space = rest.indexOf(SPACE);
    const digits = space === -1 ? '' : rest.toString('latin1', 0, space);
    const length = /^\d{1,10}$/.test(digits) ? Number(digits) : 0;
    const equals = rest.indexOf('=', space);
    if (length <= space || length > rest.length || rest[length - 1] !== LINE_END || equals === -1 || equals >= length)
      throw new Error('a line of an extended header (pax) is not well-formed');
    found[rest.toString('latin1', space + 1, equals)] = Buffer.from(rest.subarray(equals + 1, length - 1));
    rest = rest.subarray(length);
  }
  return found;
}

/** Octal digits or, from 8 GiB on, GNU's binary format. */
function decodeNumber(field: Buffer): number {
  const first = field[0] ?? 0;
  if (first === 0x80) return field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
  if (first > 0x80) return Number.NaN;
  const [digits = ''] = field.toString('latin1').replace(/^ +/, '').split(' ', 1);
  const text = digits.replace(/^\0+/, '');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function sumOf(record: Buffer): number {
  let sum = EMPTY_SUM;
  for (let at = 0; at < PLACE.sum; at++) sum += record[at] as number;
  for (let at = PLACE.sum + 8; at < record.length; at++) sum += record[at] as number;
  return sum;
}
