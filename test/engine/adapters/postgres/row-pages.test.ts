import t from 'tap';
import { type PageReading, type PageRow, rowPages } from '../../../../engine/adapters/postgres/row-pages.ts';
import type { Items } from '../../../../engine/runtime/items.ts';

interface Row {
  readonly n: number;
}

const PAGE = 24;
const FIRST = 3;

/** So many rows, and what was asked of them. */
function table(total: number) {
  const asked: [count: number, after: number | undefined][] = [];
  const read = async (count: number, after: number | undefined): Promise<readonly Row[]> => {
    asked.push([count, after]);
    const from = (after ?? 0) + 1;
    return Array.from({ length: Math.min(count, Math.max(0, total - from + 1)) }, (_, i) => ({ n: from + i }));
  };
  return { asked, read };
}

async function numbers(rows: AsyncIterable<Row>): Promise<number[]> {
  const all: number[] = [];
  for await (const { n } of rows) all.push(n);
  return all;
}

const open = new AbortController().signal;

type Read = PageReading<Row & PageRow, number>['read'];

/** The listing of what is read so. */
const listed = (read: Read, limit = Number.POSITIVE_INFINITY, signal = open): Items<Row & PageRow> =>
  rowPages({ read, placeOf: ({ n }) => n, pageSize: PAGE, limit, signal });

t.test('every row comes once and in order, up to the limit, and no page is asked for in vain', async (t) => {
  for (let total = 0; total <= 60; total++)
    for (const limit of [0, 1, 2, 3, 4, 26, 27, 28, 50, 51, 52, Number.POSITIVE_INFINITY]) {
      const { asked, read } = table(total);
      const wanted = Array.from({ length: Math.min(total, limit) }, (_, i) => i + 1);
      t.strictSame(await numbers(listed(read, limit)), wanted, `${limit} of ${total}`);
      const all = Number.isFinite(limit) ? Math.min(total + 1, limit) : total + 1;
      let pages = 0;
      for (let read = 0, size = FIRST; read < all; read += size / 2, pages++) size = Math.min(2 * size, 2 * PAGE);
      t.equal(asked.length, pages, `pages for ${limit} of ${total}`);
    }
});

t.test('the next page is asked for while the one before is read, and no other', async (t) => {
  const { asked, read } = table(90);
  const rows = listed(read);
  await rows.next();
  t.strictSame(asked, [
    [FIRST, undefined],
    [2 * FIRST, FIRST],
  ]);
  await rows.return();
});

t.test(
  'a page is under way before the one before is read, even by a driver that sends at the end of a turn',
  async (t) => {
    const { read } = table(9);
    const events: string[] = [];
    const sending = (count: number, after: number | undefined): Promise<readonly Row[]> =>
      new Promise((resolve) =>
        process.nextTick(() => {
          events.push(`page after ${after ?? 0} sent`);
          void read(count, after).then(resolve);
        }),
      );
    for await (const { n } of listed(sending, 6)) events.push(`row ${n}`);
    t.strictSame(events, [
      'page after 0 sent',
      'page after 3 sent',
      ...['row 1', 'row 2', 'row 3', 'row 4', 'row 5', 'row 6'],
    ]);
  },
);

t.test(
  'a page that fails after the reader has left is nobody’s failure, and one that is reached is the reader’s',
  async (t) => {
    const { read } = table(9);
    const failing = (count: number, after: number | undefined): Promise<readonly Row[]> =>
      after ? Promise.reject(new Error('gone')) : read(count, after);
    for await (const { n } of listed(failing)) if (n === 1) break;
    await t.rejects(numbers(listed(failing)), { message: 'gone' });
  },
);

t.test('a reader that is told to stop gets no other row', async (t) => {
  const stop = new AbortController();
  const rows = listed(table(9).read, undefined, stop.signal);
  await rows.next();
  stop.abort(new Error('stopped'));
  await t.rejects(rows.next(), { message: 'stopped' });
});

t.test('a page that its bytes cut short goes on where it was cut, and the next is no longer than it', async (t) => {
  const { asked, read } = table(50);
  /** Rows from 5 to 30 are so large that one fills a page. */
  const bounded = async (count: number, after: number | undefined) => {
    const rows = await read(count, after);
    const cut = rows.findIndex(({ n }) => n >= 5 && n <= 30);
    return rows.slice(0, cut < 0 ? rows.length : cut + 1).map((row) => ({ ...row, page_rows: rows.length }));
  };
  t.strictSame(
    await numbers(listed(bounded)),
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
  t.strictSame(asked.slice(0, 4), [
    [FIRST, undefined],
    [6, 3],
    [2, 5],
    [1, 6],
  ]);
  const inVain = asked.reduce((sum, [count]) => sum + count, 0) - 50;
  t.ok(inVain < 50, `${inVain} rows were read in vain`);
});

t.test('after a page that is full of bytes the next is not asked for before it is needed', async (t) => {
  const { asked, read } = table(90);
  const rows = listed(async (...page) => (await read(...page)).map((row) => ({ ...row, row_bytes: 1_000_000 })));
  for (let n = 1; n <= FIRST; n++) await rows.next();
  t.strictSame(asked, [[FIRST, undefined]]);
  await rows.next();
  t.strictSame(asked.slice(1), [[FIRST, FIRST]]);
  await rows.return();
});
