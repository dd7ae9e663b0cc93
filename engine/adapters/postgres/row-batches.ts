// A long listing in batches, for readers that look up something for many rows at once. As in `rowPages`, a short statement
// reads each batch, starting where the previous one ended, and a batch is bounded in bytes (`boundedPage`). Nothing is read
// ahead.

import { Items } from '../../runtime/items.ts';
import type { PageRow } from './row-pages.ts';

export interface BatchReading<Row, Place> {
  /** @param after where the previous batch ended; undefined for the first */
  read(count: number, after: Place | undefined): Promise<readonly (Row & PageRow)[]>;
  /** What the next batch needs to know of the last row. */
  placeOf(row: Row): Place;
  /** Maximum number of rows per batch. */
  readonly batchSize: number;
  /** Limit of the whole listing. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Batches are never empty. After a batch that was truncated by its size in bytes, the next one requests no more rows than that
 * had.
 */
export function rowBatches<Row extends object, Place>({
  read,
  placeOf,
  batchSize,
  limit,
  signal,
}: BatchReading<Row, Place>): Items<readonly Row[]> {
  let size = batchSize;
  let after: Place | undefined;
  let left = limit;
  return new Items(async () => {
    if (left <= 0) return undefined;
    signal.throwIfAborted();
    const asked = Math.min(size, left);
    const rows = await read(asked, after);
    const last = rows.at(-1);
    if (!last) return undefined;
    const found = last.page_rows ?? rows.length;
    left = found < asked && rows.length === found ? 0 : left - rows.length;
    size = rows.length < found ? rows.length : Math.min(batchSize, size * 2);
    after = placeOf(last);
    return rows;
  });
}
