// A long listing in pages, each read by a short statement that begins where the one before ended: no connection is held
// between them, however slowly the listing is read. The next page is asked for before the one at hand is read: reader and
// database work at the same time. So two pages are in memory at most.

import { setImmediate as turn } from 'node:timers/promises';

/** @param after the last row of the page before */
export type ReadPage<Row> = (count: number, after: Row | undefined) => Promise<readonly Row[]>;

export async function* rowPages<Row extends object>(
  read: ReadPage<Row>,
  pageSize: number,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Row, void, undefined> {
  let left = limit;
  const ask = (after: Row | undefined): Promise<readonly Row[]> => {
    const page = read(Math.min(pageSize, left), after);
    // Whoever reads no further does not hear of its failure.
    page.catch(() => undefined);
    return page;
  };
  signal.throwIfAborted();
  for (let page = left > 0 ? ask(undefined) : undefined; page; ) {
    const rows = await page;
    const last = rows.at(-1);
    const more = last !== undefined && rows.length === Math.min(pageSize, left) && rows.length < left;
    left -= rows.length;
    signal.throwIfAborted();
    page = more ? ask(last) : undefined;
    // What is asked for is sent when this turn is over, and a reader may take all rows of the page at hand in one.
    if (page) await turn();
    for (const row of rows) {
      signal.throwIfAborted();
      yield row;
    }
  }
}
