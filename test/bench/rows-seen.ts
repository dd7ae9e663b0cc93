// What a side of M16 read: every side has to come to the same.

import { FIRST_MODIFIED_MS } from './million-objects.ts';

export class RowsSeen {
  #rows = 0;
  #modified = 0;
  #etags = 0;
  #last = '';

  add(owner: string, dataset: string, etag: string | undefined, modified: Date | undefined): void {
    this.#rows++;
    this.#modified += ((modified?.getTime() ?? 0) - FIRST_MODIFIED_MS) / 1000;
    // Its last digits count the datasets.
    this.#etags += Number(etag?.slice(-6));
    this.#last = `${owner}/${dataset}`;
  }

  get all(): unknown {
    return { rows: this.#rows, modified: this.#modified, etags: this.#etags, last: this.#last };
  }
}
