// All rows of an index in the order of the store's keys, page by page. The next page is fetched while the current one is
// processed, so that the database works in parallel. Two pages are in memory, and the database holds no state between two
// pages.

import { setImmediate as turn } from 'node:timers/promises';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { PageRows, StoreOrdered } from '../../engine/ports/dataset-index.ts';

/**
 * Rows per page. Large enough that the round trip is negligible, small enough that the page's objects are short-lived garbage.
 */
export const PAGE = 1_000;

/** Rows per page where rows are compared as bytes and nearly all of them are never parsed. */
export const BYTES_PAGE = 4_000;

/** Rows per page for each of several indexes; together they hold no more rows than four pages of a single index. */
export const pageOf = (indexes: number): number => Math.min(PAGE, Math.ceil((2 * PAGE) / indexes));

/** A page's failure is thrown when that page is requested. A reader that stops before does not see it. */
export async function* pagesAhead<Row extends DatasetAddress, Page extends PageRows<Row>>(
  index: StoreOrdered<Row, Page>,
  rows: number,
  signal: AbortSignal,
): AsyncGenerator<Page, void, undefined> {
  let coming = index.page(undefined, rows, signal);
  for (;;) {
    const page = await coming;
    // A page with fewer rows than requested is the last one.
    if (page.length === rows) {
      coming = index.page(page.at(-1), rows, signal);
      coming.catch(() => undefined);
      // Otherwise the query would be sent only when the event loop is idle, which is after the page was processed.
      await turn();
    }
    if (page.length > 0) yield page;
    if (page.length < rows) return;
  }
}
