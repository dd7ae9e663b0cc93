// A long listing in pages, each read by a short statement that begins where the one before ended: no connection is held
// between them, however slowly the listing is read. The next page is asked for before the one at hand is read: reader and
// database work at the same time. So two pages are in memory at most, and a page ends when it has enough bytes, whatever the
// size of its rows (`boundedPage`). The first page is small; after rows that were large the next one is, too, so that the
// database reads little in vain, and it is not asked for before it is needed.

import { setImmediate as turn } from 'node:timers/promises';

/** Of a page: rows are added until it has so much. One row may be larger. */
const PAGE_BYTES = 256 * 1024;
/** The first page is this part of the largest; each that is full is followed by one of twice its length. */
const FIRST_PART = 8;

/** What {@link boundedPage} adds to a row. */
export interface PageRow {
  /** Rows that the page would have had, had their bytes not been bounded. */
  readonly page_rows?: number;
  /** About what the row takes in memory, as it came. */
  readonly row_bytes?: number;
}

/** @param after the last row of the page before */
export type ReadPage<Row> = (count: number, after: Row | undefined) => Promise<readonly (Row & PageRow)[]>;

/** @param statement the rows of a page, in their order */
export const boundedPage = (statement: string): string => `
  select * from (
    select r.*, pg_column_size(r) as row_bytes, (count(*) over ())::integer as page_rows,
      coalesce(sum(pg_column_size(r)) over (rows between unbounded preceding and 1 preceding), 0) as bytes_before
    from (${statement}) r) page
  where bytes_before < ${PAGE_BYTES}`;

export async function* rowPages<Row extends object>(
  read: ReadPage<Row>,
  pageSize: number,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Row, void, undefined> {
  let left = limit;
  let size = Math.ceil(pageSize / FIRST_PART);
  const ask = (after: Row | undefined): ReturnType<ReadPage<Row>> => {
    const page = read(Math.min(size, left), after);
    // Whoever reads no further does not hear of its failure.
    page.catch(() => undefined);
    return page;
  };
  signal.throwIfAborted();
  for (let page = left > 0 ? ask(undefined) : undefined; page; ) {
    const read = await page;
    const rows: readonly Row[] = read;
    const last = read.at(-1);
    const found = last?.page_rows ?? rows.length;
    const more = last !== undefined && found === Math.min(size, left) && rows.length < left;
    size = rows.length < found ? rows.length : Math.min(pageSize, size * 2);
    left -= rows.length;
    signal.throwIfAborted();
    const isCut = rows.length < found;
    page = more && !isCut ? ask(last) : undefined;
    // What is asked for is sent when this turn is over, and a reader may take all rows of the page at hand in one.
    if (page) await turn();
    for (const row of rows) {
      signal.throwIfAborted();
      yield row;
    }
    if (isCut && left > 0) page = ask(last);
  }
}
