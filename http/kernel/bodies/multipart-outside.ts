// What stands outside of the delimiters of a multipart body is to be ignored (RFC 2046, 5.1.1). A part that stands there was
// put there by mistake, and whoever sent it believes that it came: that is found here, in chunks of any size.

const DISPOSITION = 'content-disposition:';

/** Finds the head of a part in text that should have none. */
export class PartOutside {
  #before = '';

  /** Whether one has been seen up to the end of this chunk. */
  holds(chunk: Buffer): boolean {
    if (chunk.length === 0) return false;
    const text = this.#before + chunk.toString('latin1').toLowerCase();
    this.#before = text.slice(1 - DISPOSITION.length);
    return text.includes(DISPOSITION);
  }
}

const NOTHING = Buffer.alloc(0);

/** Finds where the body of that boundary is over. */
export class ClosingDelimiter {
  readonly #delimiter: Buffer;
  /** What came last, as far as the delimiter may begin in it; a body may begin with it. */
  #before = Buffer.from('\r\n');
  #found = false;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}--`, 'latin1');
  }

  /** The part of the chunk that is behind the delimiter. */
  behind(chunk: Buffer): Buffer {
    if (this.#found) return chunk;
    const needed = this.#delimiter.length;
    const seam = Buffer.concat([this.#before, chunk.subarray(0, needed - 1)]);
    const inSeam = seam.indexOf(this.#delimiter);
    const at = inSeam === -1 ? chunk.indexOf(this.#delimiter) : inSeam - this.#before.length;
    this.#found = at !== -1 || inSeam !== -1;
    if (this.#found) return chunk.subarray(at + needed);
    this.#before = Buffer.from(chunk.length >= needed - 1 ? chunk.subarray(1 - needed) : seam.subarray(1 - needed));
    return NOTHING;
  }
}
