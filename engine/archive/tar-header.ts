// The records of a tar before a file's content (POSIX ustar, and pax for names that do not fit): plain files without an owner,
// mode 0644. The bytes equal those of tar-stream, which does not export its function.

export interface TarFile {
  readonly path: string;
  readonly size: number;
  readonly modified: Date;
}

/** Tar consists of records of this size. */
export const RECORD_BYTES = 512;
/** Zeros at the end of a tar. */
export const END_BYTES = 2 * RECORD_BYTES;
const MAX_NAME = 100;
const MAX_PREFIX = 155;
const MAX_OCTAL_SIZE = 0o77777777777;

/** One record, or three: a pax header, its content, and the file's. */
export function tarHeader({ path, size, modified }: TarFile): Buffer {
  const names = splitName(path);
  if (names) return header({ ...names, size, modified, type: '0' });
  const pax = paxPath(path);
  const name = { name: 'PaxHeader', prefix: '', modified };
  return Buffer.concat([
    header({ ...name, size: pax.length, type: 'x' }),
    pax,
    Buffer.alloc(padding(pax.length)),
    header({ ...name, size, type: '0' }),
  ]);
}

/** Bytes from the end of the content to the next record. */
export const padding = (size: number): number => (RECORD_BYTES - (size % RECORD_BYTES)) % RECORD_BYTES;

/** Only for ASCII: moves folders to the prefix until the name fits; undefined when it does not. */
function splitName(path: string): { readonly name: string; readonly prefix: string } | undefined {
  if (Buffer.byteLength(path) !== path.length) return undefined;
  if (path.length <= MAX_NAME) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - MAX_NAME - 1);
  if (slash === -1 || slash > MAX_PREFIX) return undefined;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

/** `LENGTH path=PATH\n`, where the length includes its own digits. */
function paxPath(path: string): Buffer {
  const rest = ` path=${path}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length > String(bytes).length) length++;
  return Buffer.from(length + rest);
}

function header(file: {
  readonly name: string;
  readonly prefix: string;
  readonly size: number;
  readonly modified: Date;
  readonly type: '0' | 'x';
}): Buffer {
  const record = Buffer.alloc(RECORD_BYTES);
  record.write(file.name, 0, 'latin1');
  record.write('000644 \0' + '000000 \0' + '000000 \0', 100, 'latin1');
  writeSize(record, file.size);
  record.write(`${octal(Math.trunc(file.modified.getTime() / 1000) | 0, 11)} `, 136, 'latin1');
  record.write(file.type, 156, 'latin1');
  record.write('ustar\0' + '00', 257, 'latin1');
  record.write('000000 \0' + '000000 \0', 329, 'latin1');
  record.write(file.prefix, 345, 'latin1');
  record.write(`${octal(checksum(record), 6)} `, 148, 'latin1');
  return record;
}

/** Binary from 8 GiB on, a format that GNU tar introduced. */
function writeSize(record: Buffer, size: number): void {
  if (size <= MAX_OCTAL_SIZE) {
    record.write(`${octal(size, 11)} `, 124, 'latin1');
    return;
  }
  record.writeUInt8(0x80, 124);
  record.writeUIntBE(size, 130, 6);
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** The checksum's own field counts as blanks. */
function checksum(record: Buffer): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of record.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}
