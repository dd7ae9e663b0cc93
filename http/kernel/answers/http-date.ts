// The time as headers have it, made anew each second.

export class HttpDate {
  #second = Number.NaN;
  #text = '';

  /** @param now ms since 1970 */
  at(now: number): string {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(now).toUTCString();
    }
    return this.#text;
  }
}
