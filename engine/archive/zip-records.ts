// The records of a zip file as bytes (APPNOTE 6.3.x): local header, central record, end of the directory, and their
// zip64 forms. Names are UTF-8, files are plain files with mode 0644.

export interface ZipRecord {
  /** UTF-8. */
  readonly name: Buffer;
  /** Undefined = 1980-01-01, the earliest date of the format. */
  readonly modified: Date | undefined;
  readonly crc: number;
  readonly size: number;
  readonly packedSize: number;
  readonly deflated: boolean;
  /** Of the local header. */
  readonly offset: number;
  readonly zip64: boolean;
}

/** Deflating may add a little: from this size on, a packed size might not fit into 32 bits. */
const ZIP64_FROM_BYTES = 0xf0000000;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
const ZIP64_FIELD = 0x0001;
const ZIP64_FIELD_HEAD = 4;
const VERSION = 20;
const VERSION_ZIP64 = 45;
const MADE_BY_UNIX = (3 << 8) | VERSION_ZIP64;
const UTF8_NAME = 0x800;
const PLAIN_FILE_0644 = 0o100644;

/** For a file of that size at that offset of the archive. */
export const needsZip64 = (size: number, offset: number): boolean =>
  size >= ZIP64_FROM_BYTES || offset >= ZIP64_FROM_BYTES;

/** Its length does not depend on crc and packedSize, so it can be written first and patched later. */
export function localHeader(record: ZipRecord): Buffer {
  const header = Buffer.alloc(localHeaderBytes(record));
  putLocalHeader(record, header);
  return header;
}

/** Writes straight into the output buffer; as many bytes as {@link localHeaderBytes} returns. */
export function putLocalHeader(record: ZipRecord, target: Buffer): void {
  const { name, zip64 } = record;
  target.writeUInt32LE(0x04034b50, 0);
  writeCommon(target, 4, record);
  target.writeUInt16LE(name.length, 26);
  target.writeUInt16LE(zip64 ? ZIP64_FIELD_HEAD + 2 * 8 : 0, 28);
  target.set(name, 30);
  if (zip64) target.set(zip64Field([record.size, record.packedSize]), 30 + name.length);
}

/** Length of the local header. */
export const localHeaderBytes = ({ name, zip64 }: Pick<ZipRecord, 'name' | 'zip64'>): number =>
  30 + name.length + (zip64 ? ZIP64_FIELD_HEAD + 2 * 8 : 0);

export function centralRecord(record: ZipRecord): Buffer {
  const { name, zip64, size, packedSize, offset } = record;
  const extra = zip64 ? zip64Field([size, packedSize, offset]) : undefined;
  const header = Buffer.alloc(46 + name.length + (extra?.length ?? 0));
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_BY_UNIX, 4);
  writeCommon(header, 6, record);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra?.length ?? 0, 30);
  header.writeUInt32LE(PLAIN_FILE_0644 * 0x10000, 38);
  header.writeUInt32LE(zip64 ? MAX_32 : offset, 42);
  header.set(name, 46);
  if (extra) header.set(extra, 46 + name.length);
  return header;
}

/** The records after the central records, which begin at `start` and take `bytes`. */
export function endRecords(entries: number, start: number, bytes: number, forceZip64: boolean): Buffer {
  const zip64 = forceZip64 || entries >= MAX_16 || start >= MAX_32 || bytes >= MAX_32;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(zip64 ? MAX_16 : entries, 8);
  end.writeUInt16LE(zip64 ? MAX_16 : entries, 10);
  end.writeUInt32LE(zip64 ? MAX_32 : bytes, 12);
  end.writeUInt32LE(zip64 ? MAX_32 : start, 16);
  return zip64 ? Buffer.concat([zip64End(entries, start, bytes), end]) : end;
}

function zip64End(entries: number, start: number, bytes: number): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(MADE_BY_UNIX, 12);
  end.writeUInt16LE(VERSION_ZIP64, 14);
  end.writeBigUInt64LE(BigInt(entries), 24);
  end.writeBigUInt64LE(BigInt(entries), 32);
  end.writeBigUInt64LE(BigInt(bytes), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  // The locator: where the record above begins, on the only disk.
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(start + bytes), 64);
  end.writeUInt32LE(1, 72);
  return end;
}

/** The fields that local and central headers share, in the same order. */
function writeCommon(header: Buffer, at: number, record: ZipRecord): void {
  header.writeUInt16LE(record.zip64 ? VERSION_ZIP64 : VERSION, at);
  header.writeUInt16LE(UTF8_NAME, at + 2);
  header.writeUInt16LE(record.deflated ? 8 : 0, at + 4);
  header.writeUInt32LE(dosTime(record.modified), at + 6);
  header.writeUInt32LE(record.crc, at + 10);
  header.writeUInt32LE(record.zip64 ? MAX_32 : record.packedSize, at + 14);
  header.writeUInt32LE(record.zip64 ? MAX_32 : record.size, at + 18);
}

function zip64Field(values: readonly number[]): Buffer {
  const field = Buffer.alloc(ZIP64_FIELD_HEAD + values.length * 8);
  field.writeUInt16LE(ZIP64_FIELD, 0);
  field.writeUInt16LE(values.length * 8, 2);
  for (const [i, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), ZIP64_FIELD_HEAD + i * 8);
  return field;
}

/** In steps of two seconds, in UTC so that the bytes do not depend on the machine. */
function dosTime(modified: Date | undefined): number {
  const year = modified?.getUTCFullYear() ?? 0;
  if (!modified || year < 1980) return 0x00210000;
  if (year > 2107) return 0xff9fbf7d;
  const date = ((year - 1980) << 9) | ((modified.getUTCMonth() + 1) << 5) | modified.getUTCDate();
  const time = (modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5) | (modified.getUTCSeconds() >> 1);
  return date * 0x10000 + time;
}
