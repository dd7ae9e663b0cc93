// Memory of chunks, given back before the collector comes for it. It lies outside the heap, where the collector is slow to
// see it pile up: an upload of gigabytes takes 60 MB less without waiting for it, and half the time.

/**
 * For whoever is done with a chunk that is nobody else's: it is empty afterwards. Does nothing to a chunk that is only a
 * part of its memory, the rest of which may be another's.
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * For pieces that were cut, in order, from one memory of `wholeBytes` after the other: with the piece that reaches its end,
 * the memory is given back. Those put together from several are copies of other sizes, and the collector's.
 */
export function giveBackWithLast({ buffer, byteOffset, byteLength }: Uint8Array, wholeBytes: number): void {
  const isLast = byteLength > 0 && byteOffset + byteLength === wholeBytes && buffer.byteLength === wholeBytes;
  if (isLast && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
