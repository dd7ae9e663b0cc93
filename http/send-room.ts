// How much of the bodies that a listener sends is in memory. One download has pieces as large as they may be. When many run
// at once each takes a part of what is left, so that slow clients are not taken for those who take nothing: together they
// stay below the bytes from which on clients are cut off (`http.limits.maxUnsentSize`), in whatever order they come.

/** A piece is never smaller. */
const LEAST_BYTES = 8 * 1024;
/** Of what is left, a piece takes this part. */
const PART = 8;

export class SendRoom {
  #free: number;

  /** @param bytes of all pieces together, but for the least one of each download */
  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** The length of the next piece, at most so much; to be given back. */
  take(most: number): number {
    const bytes = Math.min(most, Math.max(LEAST_BYTES, Math.floor(this.#free / PART)));
    this.#free -= bytes;
    return bytes;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
