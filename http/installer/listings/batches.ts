// A stream of rows in batches, so that what belongs to them can be looked up for many at once.

/** Rows of a batch. */
const BATCH = 100;

export async function* inBatches<Row>(rows: AsyncIterable<Row>): AsyncGenerator<readonly Row[], void, undefined> {
  let batch: Row[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
