// What a side of W5 listed: every side has to come to the same.

import { etagOf, FIRST_MODIFIED_MS, keyOf, modifiedOf, sizeOf } from './million-objects.ts';

export class ObjectsSeen {
  #objects = 0;
  #bytes = 0;
  #seconds = 0;
  #etags = 0;
  #last = '';

  add(key: string, size: number, etag: string, modified: Date): void {
    this.#objects++;
    this.#bytes += size;
    this.#seconds += (modified.getTime() - FIRST_MODIFIED_MS) / 1000;
    // Its last digits count the objects.
    this.#etags += Number(etag.slice(-6));
    this.#last = key;
  }

  get all(): unknown {
    const { bytes, etags } = { bytes: this.#bytes, etags: this.#etags };
    return { objects: this.#objects, bytes, seconds: this.#seconds, etags, last: this.#last };
  }
}

/** Of a listing of `count` objects. */
export function allObjects(count: number): unknown {
  const seen = new ObjectsSeen();
  for (let n = 0; n < count; n++) seen.add(keyOf(n), sizeOf(n), etagOf(n), new Date(modifiedOf(n)));
  return seen.all;
}
