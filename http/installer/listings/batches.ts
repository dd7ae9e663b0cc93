// A stream of rows in batches, so that what belongs to them can be looked up for many at once.

/** A batch has no more rows, and ends with the one that brings it to so many bytes. */
const BATCH = { rows: 100, bytes: 256 * 1024 };

export async function* inBatches<Row extends { readonly bytes: number }>(
  rows: AsyncIterable<Row>,
): AsyncGenerator<readonly Row[], void, undefined> {
  let batch: Row[] = [];
  let bytes = 0;
  for await (const row of rows) {
    batch.push(row);
    bytes += row.bytes;
    if (batch.length < BATCH.rows && bytes < BATCH.bytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
