// A long listing in pages. A short statement reads each page, starting where the previous page ended, so a slow reader holds no
// connection between pages. The next page is requested before the current one is read, so that reader and database work in
// parallel. At most two pages are in memory, and a page is bounded in bytes, whatever the size of its rows (`boundedPage`). The
// first page is small. After a page that reached its limit in bytes, the next one has at most as many rows. It is not requested
// in advance, so that the database does not read rows in vain. A row is not kept once it was handed out.

import { setImmediate as turn } from 'node:timers/promises';
import { Items } from '../../runtime/items.ts';

/** Upper bound of a page. A larger row is a page of its own. */
const PAGE_BYTES = 256 * 1024;
/** The first page has this fraction of the maximum rows; each full page is followed by one twice as long. */
const FIRST_PART = 8;

/** What {@link boundedPage} adds to a row. */
export interface PageRow {
  /** Rows that the page would have without the bound in bytes. */
  readonly page_rows?: number;
  /** Approximate size of the row in memory, as received. */
  readonly row_bytes?: number;
}

export interface PageReading<Row, Place> {
  /** @param after where the previous page ended; undefined for the first */
  read(count: number, after: Place | undefined): Promise<readonly (Row & PageRow)[]>;
  /** What the next page needs to know of the last row. Keep it small: it is held while the page is read. */
  placeOf(row: Row): Place;
  readonly pageSize: number;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Measures rows as text: `pg_column_size` counts compressed values as compressed, a hundredth of what repetitive text takes in
 * memory. `offset 0` keeps PostgreSQL from measuring each row twice (17 instead of 26 us a row of 2.6 kB, 2026-11-26).
 *
 * @param statement the rows of a page, in order
 */
export const boundedPage = (statement: string): string => `
  select * from (
    select m.*, (count(*) over ())::integer as page_rows, row_number() over () as page_row,
      sum(row_bytes) over (rows between unbounded preceding and current row) as page_bytes
    from (select r.*, octet_length(r::text) as row_bytes from (${statement}) r offset 0) m) page
  where page_bytes <= ${PAGE_BYTES} or page_row = 1`;

/**
 * A page that somebody asked for. The statement reads one row more than the page may have, which tells whether there is another
 * page: a full last page has none.
 * @param rows of {@link boundedPage}, of at most `limit + 1` rows
 */
export function cutPage<Row extends object>(
  rows: readonly (Row & PageRow)[],
  limit: number,
): { readonly page: readonly Row[]; readonly hasMore: boolean } {
  const page = rows.slice(0, limit);
  return { page, hasMore: (rows[0]?.page_rows ?? 0) > page.length };
}

export function rowPages<Row extends object, Place>(reading: PageReading<Row, Place>): Items<Row> {
  const pages = new RowPages(reading);
  return new Items(() => pages.next());
}

class RowPages<Row extends object, Place> {
  readonly #reading: PageReading<Row, Place>;
  /** Rows of the listing that no page has returned yet. */
  #left: number;
  #size: number;
  /** Rows of the current page, last first. */
  #rows: Row[] = [];
  #next: (() => Promise<readonly (Row & PageRow)[]>) | undefined;

  constructor(reading: PageReading<Row, Place>) {
    this.#reading = reading;
    this.#left = reading.limit;
    this.#size = Math.ceil(reading.pageSize / FIRST_PART);
    if (this.#left > 0) this.#next = () => this.#ask(undefined);
  }

  async next(): Promise<Row | undefined> {
    this.#reading.signal.throwIfAborted();
    while (this.#rows.length === 0 && this.#next) await this.#turnPage(this.#next);
    return this.#rows.pop();
  }

  async #turnPage(read: () => Promise<readonly (Row & PageRow)[]>): Promise<void> {
    const { pageSize, placeOf, signal } = this.#reading;
    this.#next = undefined;
    const rows = await read();
    signal.throwIfAborted();
    this.#rows = rows.toReversed();
    const last = rows.at(-1);
    if (!last) return;
    const asked = Math.min(this.#size, this.#left);
    const found = last.page_rows ?? rows.length;
    const isFull = rows.length < found || rows.reduce((sum, row) => sum + (row.row_bytes ?? 0), 0) >= PAGE_BYTES;
    this.#size = isFull ? rows.length : Math.min(pageSize, this.#size * 2);
    this.#left -= rows.length;
    if (this.#left === 0 || found < asked) return;
    const place = placeOf(last);
    if (isFull) this.#next = () => this.#ask(place);
    else {
      const page = this.#ask(place);
      this.#next = () => page;
      // The request is sent when this turn is over, and a reader may take all rows of the current page in one turn.
      await turn();
    }
  }

  #ask(after: Place | undefined): Promise<readonly (Row & PageRow)[]> {
    const page = this.#reading.read(Math.min(this.#size, this.#left), after);
    // If the reader stops before this page, its failure is ignored.
    page.catch(() => undefined);
    return page;
  }
}

// A long listing in batches, for readers that look up something for many rows at once. As in `rowPages`, a short statement
// reads each batch, starting where the previous one ended, and a batch is bounded in bytes (`boundedPage`). Nothing is read
// ahead.

interface BatchReading<Row, Place> extends Omit<PageReading<Row, Place>, 'pageSize'> {
  /** Maximum number of rows per batch. */
  readonly batchSize: number;
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
