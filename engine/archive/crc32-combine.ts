// The CRC-32 of bytes of which only the checksums of two parts are known. A checksum is the remainder of the bytes, taken as
// a polynomial over GF(2), by the one that zip and gzip use; appending n bytes multiplies that of the first part by x^8n.
// Polynomials here have the coefficient of x^0 in the highest bit, as the checksums themselves.

const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
const X = 0x40000000;

/** Of a part and another of `bytes` behind it, fewer than 2^31. */
export function crc32Combine(first: number, second: number, bytes: number): number {
  let shift = ONE;
  // x^8, x^16, x^32 ..
  let power = X_TO_8;
  for (let rest = bytes; rest > 0; rest >>>= 1) {
    if (rest & 1) shift = times(shift, power);
    power = times(power, power);
  }
  return (times(shift, first) ^ second) >>> 0;
}

/** The product's remainder. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 0, shifted = b; bit < 32; bit++) {
    if ((a << bit) & ONE) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product;
}

const X_TO_8 = [1, 2, 3].reduce((power) => times(power, power), X);
