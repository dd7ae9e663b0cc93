// Compares and searches bytes four at a time, where the reconciler looks at every byte of a million listed objects and rows:
// a call into the runtime costs more than the few bytes of a tag or an etag, and byte by byte is three times the work.

/** Whether `length` bytes from `from` are those of the other from `at`; false where either ends before. */
export function sameBytes(bytes: DataView, from: number, other: DataView, at: number, length: number): boolean {
  if (from + length > bytes.byteLength || at + length > other.byteLength) return false;
  let n = 0;
  for (; n + 4 <= length; n += 4) if (bytes.getInt32(from + n, true) !== other.getInt32(at + n, true)) return false;
  for (; n < length; n++) if (bytes.getUint8(from + n) !== other.getUint8(at + n)) return false;
  return true;
}

/** Where the first byte below `limit` (1..128) lies from `from` on; the length when there is none. */
export function firstBelow(bytes: DataView, from: number, limit: number): number {
  const [limits, end] = [limit * ONES, bytes.byteLength - 4];
  let at = from;
  for (; at <= end; at += 4) {
    const four = bytes.getInt32(at, true);
    if (((four - limits) & ~four & HIGH_BITS) !== 0) break;
  }
  while (at < bytes.byteLength && bytes.getUint8(at) >= limit) at++;
  return at;
}

/** Where the first of two bytes lies from `from` on; the length when there is none. */
export function firstOfTwo(bytes: DataView, from: number, one: number, two: number): number {
  const [ones, twos, end] = [one * ONES, two * ONES, bytes.byteLength - 4];
  let at = from;
  for (; at <= end; at += 4) {
    const four = bytes.getInt32(at, true);
    const [a, b] = [four ^ ones, four ^ twos];
    // A byte that is zero has its high bit set once one is taken from it.
    if ((((a - ONES) & ~a) | ((b - ONES) & ~b)) & HIGH_BITS) break;
  }
  for (; at < bytes.byteLength; at++) {
    const byte = bytes.getUint8(at);
    if (byte === one || byte === two) break;
  }
  return at;
}

const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;

/** Bytes that {@link sameBytes} and the others read. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
