// Bounds the memory for bodies that a listener sends. A single download uses pieces of full size. When many run at once, each
// takes a fraction of what is left, so that all together stay below `http.limits.maxUnsentSize`. Above that bound, the server
// would cut off slow clients as if they read nothing.

/** Lower bound of a piece. */
const LEAST_BYTES = 8 * 1024;
/** A piece takes at most this fraction of what is left. */
const PART = 8;

export class SendRoom {
  #free: number;

  /** @param bytes of all pieces together; each download may exceed it by one piece of the smallest size */
  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Returns the length of the next piece, at most `most`. The caller gives it back. */
  take(most: number): number {
    const bytes = Math.min(most, Math.max(LEAST_BYTES, Math.floor(this.#free / PART)));
    this.#free -= bytes;
    return bytes;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
