// Memory in which a page of a listing lies, used again for the page after the next. A full listing of a million objects
// would otherwise leave the collector a gigabyte, which costs it most of a second, and the process its peak.

import type { IncomingMessage } from 'node:http';

/** Objects, to begin with: most listings are of one dataset. */
const OBJECTS = 16;

export class PageRoom {
  /** Columns of `ObjectColumns`. */
  places = new Int32Array(4 * OBJECTS);
  modifiedMs = new Float64Array(OBJECTS);
  sizes = new Float64Array(OBJECTS);
  #bytes: Buffer = Buffer.alloc(0);

  /** For twice as many objects; what is there stays. */
  grow(): void {
    const { places, modifiedMs, sizes } = this;
    this.places = new Int32Array(2 * places.length);
    this.places.set(places);
    this.modifiedMs = new Float64Array(2 * modifiedMs.length);
    this.modifiedMs.set(modifiedMs);
    this.sizes = new Float64Array(2 * sizes.length);
    this.sizes.set(sizes);
  }

  /** The body of an answer, in this memory as long as nothing else is read into it. */
  read(response: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve(this.#join(chunks)));
      response.once('error', reject);
      response.once('close', () => reject(Object.assign(new Error('closed before its end'), { code: CLOSED })));
    });
  }

  #join(chunks: readonly Buffer[]): Buffer {
    if (chunks.length === 1) return chunks[0] as Buffer;
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    // An eighth more, as the next page is a little longer or shorter.
    if (this.#bytes.length < length) this.#bytes = Buffer.allocUnsafeSlow(length + (length >> 3));
    let at = 0;
    for (const chunk of chunks) at += chunk.copy(this.#bytes, at);
    return this.#bytes.subarray(0, length);
  }
}

/** As Node's streams say it. */
const CLOSED = 'ERR_STREAM_PREMATURE_CLOSE';
