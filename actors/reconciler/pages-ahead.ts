// All rows of an index in the order of the store's keys, page by page: while one page is used, the next is on its way, so
// that the database works while we do. Two pages are held, and nothing between two of them in the database.

import { setImmediate as turn } from 'node:timers/promises';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { PageRows, StoreOrdered } from '../../engine/ports/dataset-index.ts';

/** Rows of a page: so many that the round trip is small beside them, so few that what is read of them dies young. */
export const PAGE = 1_000;

/** The same where rows are compared as bytes, and nothing is read of nearly all of them. */
export const BYTES_PAGE = 4_000;

/** Rows of a page of each of several indexes, which together hold no more than four such pages alone. */
export const pageOf = (indexes: number): number => Math.min(PAGE, Math.ceil((2 * PAGE) / indexes));

/** A failure of a page comes when that page is wanted; whoever stops reading before hears of none. */
export async function* pagesAhead<Row extends DatasetAddress, Page extends PageRows<Row>>(
  index: StoreOrdered<Row, Page>,
  rows: number,
  signal: AbortSignal,
): AsyncGenerator<Page, void, undefined> {
  let coming = index.page(undefined, rows, signal);
  for (;;) {
    const page = await coming;
    // Fewer than were asked for are the last ones.
    if (page.length === rows) {
      coming = index.page(page.at(-1), rows, signal);
      coming.catch(() => undefined);
      // By itself a statement goes out only once nothing else is to be done, which is when the page was used.
      await turn();
    }
    if (page.length > 0) yield page;
    if (page.length < rows) return;
  }
}
