// A stream of rows in batches, so that what belongs to them can be looked up for many at once.

import { Items } from '../../../engine/runtime/items.ts';

/** A batch has no more rows, and ends with the one that brings it to so many bytes. */
const BATCH = { rows: 100, bytes: 256 * 1024 };

export function inBatches<Row extends { readonly bytes: number }>(rows: AsyncIterable<Row>): Items<readonly Row[]> {
  const source = rows[Symbol.asyncIterator]();
  return new Items(
    async () => {
      const batch: Row[] = [];
      for (let bytes = 0; batch.length < BATCH.rows && bytes < BATCH.bytes; ) {
        const next = await source.next();
        if (next.done) break;
        batch.push(next.value);
        bytes += next.value.bytes;
      }
      return batch.length > 0 ? batch : undefined;
    },
    () => source.return?.(),
  );
}
