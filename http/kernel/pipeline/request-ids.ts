// Ids of requests: UUIDs whose first 112 bits are drawn at random for 65,536 requests at a time, the rest counts them. To
// draw each takes as long as to find its route. An id gives no rights, so it may be guessed from the one before.

import { randomUUID } from 'node:crypto';

/** Of the digits that count. */
const DIGITS = 4;
const PER_STEM = 16 ** DIGITS;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export class RequestIds {
  #stem = '';
  #given = PER_STEM;

  next(): string {
    if (this.#given === PER_STEM) {
      this.#stem = randomUUID().slice(0, -DIGITS);
      this.#given = 0;
    }
    const n = this.#given++;
    return this.#stem + HEX[n >> 8] + HEX[n & 0xff];
  }
}
