// Compares and searches bytes four at a time, because the reconciler looks at every byte of a million listed objects and rows.
// A call into the runtime costs more than the few bytes of a tag or an etag, and byte by byte is three times the work.

/** Whether the `length` bytes from `from` equal those of `other` from `at`; false when either ends before. */
export function sameBytes(bytes: DataView, from: number, other: DataView, at: number, length: number): boolean {
  if (from + length > bytes.byteLength || at + length > other.byteLength) return false;
  let n = 0;
  for (; n + 4 <= length; n += 4) if (bytes.getInt32(from + n, true) !== other.getInt32(at + n, true)) return false;
  for (; n < length; n++) if (bytes.getUint8(from + n) !== other.getUint8(at + n)) return false;
  return true;
}

/** Index of the first byte below `limit` (1..128), starting at `from`; the length when there is none. */
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

/** Index of the first of two bytes, starting at `from`; the length when there is none. */
export function firstOfTwo(bytes: DataView, from: number, one: number, two: number): number {
  const [ones, twos, end] = [one * ONES, two * ONES, bytes.byteLength - 4];
  let at = from;
  for (; at <= end; at += 4) {
    const four = bytes.getInt32(at, true);
    const [a, b] = [four ^ ones, four ^ twos];
    // Subtracting one from a zero byte sets its high bit.
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

/** A view for {@link sameBytes} and the other functions here. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
