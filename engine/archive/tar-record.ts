// What a record of a tar before a file's content says (POSIX ustar, GNU, pax), as tar-stream reads it, which keeps that
// for itself. Throws a plain error for what is no tar.

export type TarType = 'file' | 'folder' | 'link' | 'pax' | 'global pax' | 'long path' | 'long link' | 'other';

export interface TarRecord {
  readonly name: string;
  /** Bytes of content; not a number where the field is none. */
  readonly size: number;
  readonly type: TarType;
}

const TYPES: Readonly<Record<string, TarType>> = {
  '\0': 'file',
  ...{ 0: 'file', 1: 'link', 2: 'link', 5: 'folder', 7: 'file' },
  ...{ x: 'pax', g: 'global pax', L: 'long path', N: 'long path', K: 'long link' },
};
/** That of a record of zeros: blanks in the field of the sum itself. */
const EMPTY_SUM = 8 * 0x20;
const PLACE = { size: 124, sum: 148, type: 156, magic: 257, prefix: 345 } as const;
const SPACE = 0x20;

/** Undefined for a record of zeros, which ends an archive or fills it up. */
export function decodeRecord(record: Buffer): TarRecord | undefined {
  const sum = sumOf(record);
  if (sum === EMPTY_SUM) return undefined;
  if (sum !== decodeNumber(record.subarray(PLACE.sum, PLACE.sum + 8)))
    throw new Error('the checksum of a record is wrong, or this is no tar');
  const magic = record.toString('latin1', PLACE.magic, PLACE.magic + 8);
  const posix = magic.startsWith('ustar\0');
  if (!posix && magic !== 'ustar  \0') throw new Error('a record of a format that is not known');
  const prefix = posix ? decodeText(record.subarray(PLACE.prefix, PLACE.prefix + 155)) : '';
  const name = (posix && record[PLACE.prefix] ? `${prefix}/` : '') + decodeText(record.subarray(0, 100));
  const type = TYPES[String.fromCharCode(record[PLACE.type] ?? 0)] ?? 'other';
  return { name, size: decodeNumber(record.subarray(PLACE.size, PLACE.size + 12)), type };
}

/** Up to the first NUL. */
export function decodeText(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end === -1 ? bytes.length : end);
}

/** Lines `LENGTH KEY=VALUE\n` by key, up to the first that is none. */
export function decodePax(bytes: Buffer): Readonly<Record<string, string>> {
  const found: Record<string, string> = Object.create(null);
  for (let rest = bytes; rest.length > 0; ) {
    const space = rest.indexOf(SPACE);
    if (space === -1) return found;
    const length = Number.parseInt(rest.toString('latin1', 0, space), 10);
    // One that does not even count its own digits would never come to an end.
    if (!(length > space)) return found;
    const line = rest.toString('utf8', space + 1, length - 1);
    const equals = line.indexOf('=');
    if (equals === -1) return found;
    found[line.slice(0, equals)] = line.slice(equals + 1);
    rest = rest.subarray(length);
  }
  return found;
}

/** Octal digits or, from 8 GiB on, GNU's binary form. */
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
